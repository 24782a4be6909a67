// SPDX-License-Identifier: BSD-3-Clause
// ranks: 4
// A job on one machine, its hosts pretended or not, offers nothing to other machines.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "check.hpp"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Barrier(MPI_COMM_WORLD);  // all have connected
  for (int fd = 0; fd < 1024; ++fd) {
    int listens = 0;
    socklen_t size = sizeof listens;
    if (::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || !listens) continue;
    sockaddr_storage at{};
    size = sizeof at;
    if (::getsockname(fd, reinterpret_cast<sockaddr*>(&at), &size) != 0) continue;
    if (at.ss_family == AF_INET) {
      CHECK(ntohl(reinterpret_cast<const sockaddr_in&>(at).sin_addr.s_addr) >> 24 == 127);
    } else if (at.ss_family == AF_INET6) {
      CHECK(IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6&>(at).sin6_addr));
    }
  }
  return check::finish();
}

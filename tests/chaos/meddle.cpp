// SPDX-License-Identifier: BSD-3-Clause
#include "tests/chaos/meddle.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <deque>
#include <sstream>

#include "methods/chance.hpp"
#include "tests/launch/family.hpp"

namespace rmq::test {
namespace {

void refuse_peer_memory() {
  constexpr unsigned kRefuse = SECCOMP_RET_ERRNO | EPERM;
  sock_filter rules[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, kRefuse),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{std::size(rules), rules};
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

// Those in this network's list of listening sockets.
std::vector<std::uint16_t> listening_ports() {
  constexpr const char* kListen = "0A";
  std::vector<std::uint16_t> out;
  std::istringstream lines(read_all("/proc/net/tcp"));
  std::string line;
  std::getline(lines, line);  // the heading
  while (std::getline(lines, line)) {
    std::istringstream fields(line);
    std::string number, local, remote, state;
    fields >> number >> local >> remote >> state;
    if (state == kListen)
      out.push_back(static_cast<std::uint16_t>(std::stoul(local.substr(local.find(':') + 1), nullptr, 16)));
  }
  return out;
}

int call(std::uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (fd >= 0) ::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to);
  return fd;
}

}  // namespace

void prepare_child(const Plan& plan) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);          // nobody would judge it
  ::close_range(3, ~0u, CLOSE_RANGE_CLOEXEC);  // what chaos itself was given would count against the limit
  if (plan.trouble == Trouble::few_descriptors) {
    const rlimit limit{plan.limit, plan.limit};
    ::setrlimit(RLIMIT_NOFILE, &limit);
  }
  if (plan.trouble == Trouble::no_peer_memory) refuse_peer_memory();
}

pid_t find_process(const std::string& mark, int rank) {
  if (rank < 0) {
    const auto keepers = family_of(mark, "rmqkeeper");
    return keepers.empty() ? 0 : keepers.front();
  }
  const std::string wanted = fmt::format("RMQ_RANK={}", rank);
  for (const pid_t pid : family_of(mark, "chaos_traffic")) {
    const std::string environment = read_all(fmt::format("/proc/{}/environ", pid));
    if (environment.find('\0' + wanted + '\0') != std::string::npos) return pid;
  }
  return 0;
}

void visit_ports(std::uint64_t seed) {
  constexpr int kRounds = 60;
  constexpr std::size_t kMostOpen = 150;
  methods::Chance chance(seed);
  std::deque<int> open;
  for (int round = 0; round < kRounds; ++round) {
    for (const std::uint16_t port : listening_ports()) {
      const int fd = call(port);
      if (fd < 0) continue;
      open.push_back(fd);
      std::array<std::uint64_t, 64> junk{};
      for (std::uint64_t& word : junk) word = chance.next();
      const std::size_t bytes = chance.in(300) ? 0 : chance.below(sizeof junk + 1);
      if (bytes > 0) static_cast<void>(::send(fd, junk.data(), bytes, MSG_NOSIGNAL | MSG_DONTWAIT));
      while (open.size() > kMostOpen || (!open.empty() && chance.in(400))) {
        ::close(open.front());
        open.pop_front();
      }
    }
    ::poll(nullptr, 0, static_cast<int>(chance.below(10)));
  }
  for (const int fd : open) ::close(fd);
}

}  // namespace rmq::test

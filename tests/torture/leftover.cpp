// SPDX-License-Identifier: BSD-3-Clause
#include "leftover.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstring>
#include <sstream>

#include "launch/family.hpp"

namespace torture {
namespace {

constexpr std::chrono::seconds kAftermath{20};

/// Names that are no files: those of abstract sockets, which a network has of its own.
void look_for_names(std::vector<std::string>& out) {
  std::istringstream lines(rmq::test::read_all("/proc/net/unix"));
  for (std::string line; std::getline(lines, line);)
    if (const std::size_t at = line.find(" @"); at != std::string::npos) out.push_back("name" + line.substr(at));
}

std::vector<std::string> look(const rmq::test::Room& room, const std::string& mark) {
  std::vector<std::string> out;
  for (const pid_t pid : rmq::test::family_of(mark))
    out.push_back("process " + std::to_string(pid) + " " +
                  rmq::test::read_all("/proc/" + std::to_string(pid) + "/comm"));
  for (const std::string& left : room.leftovers()) out.push_back(left);
  if (room.own()) look_for_names(out);
  return out;
}

}  // namespace

std::vector<std::string> take_leftovers(const rmq::test::Room& room, const std::string& mark) {
  const auto deadline = std::chrono::steady_clock::now() + kAftermath;
  std::vector<std::string> left;
  while (!(left = look(room, mark)).empty() && std::chrono::steady_clock::now() < deadline) ::poll(nullptr, 0, 5);
  for (const pid_t pid : rmq::test::family_of(mark)) ::kill(pid, SIGKILL);
  room.sweep();
  return left;
}

void plant_leftovers(const rmq::test::Room& room, const std::string& mark) {
  const std::string name = "torture-planted";
  for (const std::string& file : {"/dev/shm/" + name, room.folder() + "/" + name})
    ::close(::open(file.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  ::shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  ::bind(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), reinterpret_cast<sockaddr*>(&address), length);
  const std::string variable = std::string(rmq::test::kMarkVariable) + "=" + mark;
  if (::fork() != 0) return;
  const char* const environment[] = {variable.c_str(), nullptr};
  ::execle("/bin/sleep", "sleep", "100", nullptr, environment);
  ::_exit(1);
}

}  // namespace torture

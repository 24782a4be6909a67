// SPDX-License-Identifier: BSD-3-Clause
#include "tests/chaos/room.hpp"

#include <fmt/format.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <sstream>

#include "tests/launch/family.hpp"

namespace rmq::test {
namespace {

bool raise_loopback() {
  const int fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  ifreq request{};
  request.ifr_name[0] = 'l';
  request.ifr_name[1] = 'o';
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  const bool up = ::ioctl(fd, SIOCSIFFLAGS, &request) == 0;
  ::close(fd);
  return up;
}

bool mount_disk(const std::string& place, std::uint64_t bytes) {
  return ::mount("tmpfs", place.c_str(), "tmpfs", 0, fmt::format("size={}", bytes).c_str()) == 0;
}

// Sockets that somebody has open. Those without an owner are the kernel's, which sees off what was on its way.
void look_for_sockets(const char* file, std::vector<std::string>& out) {
  std::istringstream lines(read_all(file));
  std::string line;
  std::getline(lines, line);  // the heading
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    const std::vector<std::string> fields(std::istream_iterator<std::string>(words), {});
    constexpr std::size_t kLocal = 1, kState = 3, kInode = 9;
    if (fields.size() > kInode && fields[kInode] != "0")
      out.push_back(fmt::format("socket {} of {}, state {}", fields[kLocal], file, fields[kState]));
  }
}

}  // namespace

Room::Room() {
  if (::unshare(CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWNET) == 0) {
    own_ = ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 && raise_loopback() &&
           mount_disk("/dev/shm", 256 << 20);
  }
  std::string name = "/tmp/rmq-chaos-XXXXXX";
  if (::mkdtemp(name.data()) != nullptr) folder_ = name;
}

Room::~Room() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

std::vector<std::filesystem::path> Room::files() const {
  std::vector<std::filesystem::path> out;
  for (const std::string& folder : {folder_, std::string(own_ ? "/dev/shm" : "")}) {
    if (folder.empty()) continue;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) out.push_back(entry.path());
  }
  return out;
}

void Room::sweep() const {
  for (const auto& file : files()) std::filesystem::remove_all(file);
}

std::vector<std::string> Room::leftovers() const {
  std::vector<std::string> out;
  for (const auto& file : files()) out.push_back("file " + file.string());
  if (!own_) return out;
  std::istringstream segments(read_all("/proc/sysvipc/shm"));
  std::string line;
  std::getline(segments, line);  // the heading
  while (std::getline(segments, line)) out.push_back("System V segment " + line);
  for (const char* file : {"/proc/net/tcp", "/proc/net/tcp6"}) look_for_sockets(file, out);
  return out;
}

Room::Disk::Disk(std::string place, std::uint64_t bytes) : place_(std::move(place)) {
  std::filesystem::create_directories(place_);
  if (!mount_disk(place_, bytes)) place_.clear();
}

Room::Disk::~Disk() {
  if (!place_.empty()) ::umount2(place_.c_str(), MNT_DETACH);
}

}  // namespace rmq::test

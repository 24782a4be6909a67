// SPDX-License-Identifier: BSD-3-Clause
// What the system has left, as files of a made-up system tell it.
#include "base/os/room.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>
#include <vector>

namespace {

using namespace rmq;

constexpr std::uint64_t kMega = 1024 * 1024, kGiga = 1024 * kMega;

/// A folder with a meminfo of 64 GB, 32 of them available.
class Room : public ::testing::Test {
 protected:
  Room() {
    std::string name = (std::filesystem::temp_directory_path() / "rmq-room-XXXXXX").string();
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    root_ = name;
    write("proc/meminfo", "MemTotal: 67108864 kB\nMemFree: 1024 kB\nMemAvailable: 33554432 kB\nSwapFree: 1048576 kB\n");
  }
  ~Room() override { std::filesystem::remove_all(root_); }
  void write(const std::string& file, const std::string& text) {
    const auto path = std::filesystem::path(root_) / file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  std::uint64_t left() const { return os::memory_left(root_); }

  std::string root_;
};

TEST_F(Room, IsWhatTheMachineHasWithoutAPartForOthers) {
  EXPECT_EQ(left(), 32 * kGiga);  // 1 GB of swap, and a 64th of the whole stays
}

TEST_F(Room, IsUnknownWhereNothingTells) {
  std::filesystem::remove_all(root_);
  EXPECT_EQ(left(), UINT64_MAX);
}

TEST_F(Room, IsWhatTheNarrowestCgroupAboveAllows) {
  write("proc/self/cgroup", "0::/user/job\n");
  write("sys/fs/cgroup/user/job/memory.max", "max\n");
  write("sys/fs/cgroup/user/job/memory.current", "1000\n");
  EXPECT_EQ(left(), 32 * kGiga);
  write("sys/fs/cgroup/user/memory.max", std::to_string(64 * kMega) + "\n");
  write("sys/fs/cgroup/user/memory.current", std::to_string(13 * kMega) + "\n");
  EXPECT_EQ(left(), 50 * kMega);
  write("sys/fs/cgroup/user/memory.stat", "anon 5\ninactive_file " + std::to_string(3 * kMega) + "\n");
  EXPECT_EQ(left(), 53 * kMega);
  write("sys/fs/cgroup/memory.max", std::to_string(64 * kMega) + "\n");
  write("sys/fs/cgroup/memory.current", std::to_string(100 * kMega) + "\n");
  EXPECT_EQ(left(), 0u);
}

TEST_F(Room, IsWhatAnOldCgroupAllows) {
  write("proc/self/cgroup", "5:cpu,cpuacct:/elsewhere\n4:memory:/box\n");
  write("sys/fs/cgroup/memory/box/memory.limit_in_bytes", std::to_string(640 * kMega) + "\n");
  write("sys/fs/cgroup/memory/box/memory.usage_in_bytes", std::to_string(30 * kMega) + "\n");
  EXPECT_EQ(left(), 600 * kMega);
}

TEST(TakeWithRoom, StopsWhereTheSystemHasNoMore) {
  std::uint64_t taken = 0;
  const auto count = [&](std::uint64_t, std::uint64_t bytes) {
    taken += bytes;
    return true;
  };
  EXPECT_FALSE(os::take_with_room(0, std::uint64_t{1} << 62, count));
  EXPECT_EQ(taken, 0u);
}

TEST(TakeWithRoom, GoesThroughAllOfTheRange) {
  if (os::memory_left() < 200 * kMega) GTEST_SKIP() << "the machine has little memory left";
  std::vector<std::pair<std::uint64_t, std::uint64_t>> pieces;
  const auto note = [&](std::uint64_t from, std::uint64_t bytes) {
    pieces.emplace_back(from, bytes);
    return pieces.size() < 3;
  };
  EXPECT_FALSE(os::take_with_room(7, 70 * kMega, note));  // the last piece could not be had
  ASSERT_EQ(pieces.size(), 3u);
  std::uint64_t next = 7;
  for (const auto& [from, bytes] : pieces) {
    EXPECT_EQ(from, next);
    next += bytes;
  }
  EXPECT_EQ(next, 7 + 70 * kMega);
}

}  // namespace

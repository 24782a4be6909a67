// SPDX-License-Identifier: BSD-3-Clause
#include "shm/segment.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>

#include "forked/forked.hpp"

namespace rmq::shm {
namespace {

using test::private_dev_shm;

constexpr std::uint64_t kBytes = 1 << 20;

int in_child(const std::function<int()>& body) {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(body());
  int status = -1;
  ::waitpid(pid, &status, 0);
  return status;
}

long files_in(const char* folder) {
  return std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator());
}

long sysv_segments() {
  std::ifstream list("/proc/sysvipc/shm");
  return std::count(std::istreambuf_iterator<char>(list), std::istreambuf_iterator<char>(), '\n');
}

class EachKind : public testing::TestWithParam<SegmentKind> {};

TEST_P(EachKind, IsZeroAndSharedBetweenTwoMappings) {
  auto made = Segment::create(GetParam(), kBytes);
  ASSERT_TRUE(made) << made.error().what;
  ASSERT_TRUE(made->reserve(0, kBytes, "a test"));
  auto other = Segment::attach(made->ticket());
  ASSERT_TRUE(other) << other.error().what;
  EXPECT_EQ(other->bytes(), kBytes);
  EXPECT_NE(other->data(), made->data());
  EXPECT_EQ(other->data()[kBytes - 1], std::byte{0});
  made->data()[kBytes - 1] = std::byte{42};
  EXPECT_EQ(other->data()[kBytes - 1], std::byte{42});
}

TEST_P(EachKind, IsReachedFromAnotherProcess) {
  auto made = Segment::create(GetParam(), kBytes);
  ASSERT_TRUE(made) << made.error().what;
  const int status = in_child([&] {
    auto other = Segment::attach(made->ticket());
    if (!other || !other->reserve(4096, 4096, "a test")) return 1;
    std::strcpy(reinterpret_cast<char*>(other->data()) + 5000, "hello");
    return 0;
  });
  EXPECT_EQ(status, 0);
  EXPECT_STREQ(reinterpret_cast<const char*>(made->data()) + 5000, "hello");
}

// In namespaces of its own: others on this machine make segments too.
TEST_P(EachKind, LeavesNothingBehindEvenAfterSigkill) {
  if (::geteuid() != 0) GTEST_SKIP() << "missing here: root, for a private mount";
  const int status = in_child([] {
    if (!private_dev_shm("8m") || ::unshare(CLONE_NEWIPC) != 0) return 77;
    const long segments = sysv_segments();
    const int end = in_child([] {
      auto made = Segment::create(GetParam(), kBytes);
      if (!made || files_in("/dev/shm") != 0) return 1;  // no name even while it is in use
      ::raise(SIGKILL);
      return 2;
    });
    if (!WIFSIGNALED(end) || WTERMSIG(end) != SIGKILL) return 3;
    if (files_in("/dev/shm") != 0) return 4;
    return sysv_segments() == segments ? 0 : 5;
  });
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77) GTEST_SKIP() << "missing here: private mounts";
  EXPECT_EQ(status, 0);
}

TEST_P(EachKind, ASparseSegmentOfManyGigabytesCostsNothingUntilReserved) {
  auto made = Segment::create(GetParam(), std::uint64_t{100} << 30);
  ASSERT_TRUE(made) << made.error().what;
  ASSERT_TRUE(made->reserve(std::uint64_t{60} << 30, 65536, "a test"));
  made->data()[(std::uint64_t{60} << 30) + 70] = std::byte{1};
}

TEST_P(EachKind, ATicketWithAnotherSizeIsRefused) {
  auto made = Segment::create(GetParam(), kBytes);
  ASSERT_TRUE(made);
  std::string ticket = made->ticket();
  ticket.back() = '9';
  auto other = Segment::attach(ticket);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, Errc::protocol);
}

INSTANTIATE_TEST_SUITE_P(
    Segment, EachKind, testing::Values(SegmentKind::memfd, SegmentKind::posix, SegmentKind::sysv),
    [](const auto& kind) {
      return std::string(std::array{"memfd", "posix", "sysv"}[static_cast<std::size_t>(kind.param)]);
    });

TEST(Segment, TicketsThatMakeNoSenseAreRefused) {
  for (const char* ticket : {"", "memfd", "memfd 1", "memfd x y z", "tmpfs 1 2 3", "sysv 1 2"}) {
    EXPECT_FALSE(Segment::attach(ticket)) << ticket;
  }
  EXPECT_FALSE(Segment::attach("memfd 999999999 3 4096"));
}

TEST(Segment, UnknownKindsAreRefusedWithTheChoices) {
  const auto kind = parse_segment_kind("mmap");
  ASSERT_FALSE(kind);
  EXPECT_NE(kind.error().what.find("memfd, posix or sysv"), std::string::npos);
}

TEST(Segment, AFullDevShmIsAnErrorWithSizePlaceAndRemedy) {
  if (::geteuid() != 0) GTEST_SKIP() << "missing here: root, for a private mount";
  const int status = in_child([] {
    if (!private_dev_shm("256k")) return 77;
    auto made = Segment::create(SegmentKind::posix, kBytes);
    if (!made) return 1;
    const auto reserved = made->reserve(0, kBytes, "the rings of 2 ranks");
    if (reserved || reserved.error().code != Errc::no_memory) return 2;
    const std::string& what = reserved.error().what;
    for (const char* part : {"1.0 MB", "the rings of 2 ranks", "/dev/shm", "256 KB left",
                             "mount -o remount,size=", "RMQ_SHM_SEGMENT=memfd", "RMQ_SHM_RING"}) {
      if (what.find(part) == std::string::npos) {
        std::fprintf(stderr, "'%s' is not in: %s\n", part, what.c_str());
        return 3;
      }
    }
    return 0;
  });
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "missing here: private mounts";
  EXPECT_EQ(status, 0);
}

TEST(Segment, AFileSizeLimitIsAnErrorAndNotTheEnd) {
  const int status = in_child([] {
    const rlimit small{65536, 65536};
    ::setrlimit(RLIMIT_FSIZE, &small);
    const auto made = Segment::create(SegmentKind::memfd, kBytes);
    if (made || made.error().code != Errc::no_memory) return 1;
    return made.error().what.find("ulimit -f") == std::string::npos ? 2 : 0;
  });
  EXPECT_EQ(status, 0);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // these need the address space themselves
TEST(Segment, AnAddressSpaceLimitIsAnError) {
  const int status = in_child([] {
    const rlimit small{std::uint64_t{1} << 30, std::uint64_t{1} << 30};
    ::setrlimit(RLIMIT_AS, &small);
    const auto made = Segment::create(SegmentKind::memfd, std::uint64_t{4} << 30);
    if (made) return 1;
    return made.error().what.find("ulimit -v") == std::string::npos ? 2 : 0;
  });
  EXPECT_EQ(status, 0);
}
#endif

}  // namespace
}  // namespace rmq::shm

#include "base/trace.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <vector>

namespace rmq {
namespace {

struct TraceFile {
  std::vector<char> bytes;
  const TraceFileHeader& header() const { return *reinterpret_cast<const TraceFileHeader*>(bytes.data()); }
  TraceRecord record(std::uint64_t slot) const {
    TraceRecord r;
    std::memcpy(&r, bytes.data() + sizeof(TraceFileHeader) + slot * sizeof r, sizeof r);
    return r;
  }
};

class TraceRing : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(::testing::TempDir()) / ("rmq_trace_test_" + std::to_string(::getpid()));
    std::filesystem::remove_all(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  TraceFile read(int rank) const {
    std::ifstream in(folder_ / ("rank-" + std::to_string(rank) + ".rmqtrace"), std::ios::binary);
    return {std::vector<char>(std::istreambuf_iterator<char>(in), {})};
  }
  std::filesystem::path folder_;
};

TEST_F(TraceRing, IsOffUntilOpened) {
  Trace trace;
  EXPECT_FALSE(trace.on());
  trace.event(Event::sleep, 0, kNoRank);
  trace.packet(Event::packet_sent, 0, 1, Packet(Kind::SHORT));
}

TEST_F(TraceRing, WritesAHeaderThatSaysWhoAndHow) {
  {
    Trace trace;
    ASSERT_TRUE(trace.open(folder_, 3, 8, 1, "0123456789abcdef", 2000));
    EXPECT_TRUE(trace.on());
  }
  const TraceFile file = read(3);
  ASSERT_GE(file.bytes.size(), sizeof(TraceFileHeader));
  const TraceFileHeader& h = file.header();
  EXPECT_STREQ(h.magic, "RMQTRC1");
  EXPECT_EQ(h.version, 1u);
  EXPECT_EQ(h.record_bytes, sizeof(TraceRecord));
  EXPECT_EQ(h.rank, 3);
  EXPECT_EQ(h.size, 8);
  EXPECT_EQ(h.host, 1u);
  EXPECT_STREQ(h.job, "0123456789abcdef");
  EXPECT_EQ(h.capacity, 2048u) << "rounded up to a power of two";
  EXPECT_EQ(h.written.load(), 0u);
  EXPECT_EQ(file.bytes.size(), sizeof(TraceFileHeader) + h.capacity * sizeof(TraceRecord));
  EXPECT_GT(h.ns_per_tick, 0.0);
  EXPECT_GE(h.ticks_end, h.ticks_start);
  EXPECT_GE(h.wall_ns_end, h.wall_ns_start);
}

TEST_F(TraceRing, KeepsWhatItIsTold) {
  Packet packet(Kind::REQUEST_SEND);
  packet.tag = 17;
  packet.request_send.size = 123456;
  {
    Trace trace;
    ASSERT_TRUE(trace.open(folder_, 0, 1, 0, "job", 1024));
    trace.packet(Event::packet_sent, 4, 5, packet, 11, 12);
    trace.event(Event::credit, 3, 2, 21, 22);
  }
  const TraceFile file = read(0);
  ASSERT_EQ(file.header().written.load(), 2u);
  const TraceRecord first = file.record(0);
  EXPECT_EQ(first.event, Event::packet_sent);
  EXPECT_EQ(first.method, 4);
  EXPECT_EQ(first.peer, 5);
  EXPECT_EQ(first.a0, 11u);
  EXPECT_EQ(first.a1, 12u);
  EXPECT_EQ(std::memcmp(first.packet, &packet, sizeof first.packet), 0);
  const TraceRecord second = file.record(1);
  EXPECT_EQ(second.event, Event::credit);
  EXPECT_EQ(second.a1, 22u);
  EXPECT_GE(second.ticks, first.ticks);
  for (std::byte b : second.packet) EXPECT_EQ(b, std::byte{0});
}

TEST_F(TraceRing, TheOldestRecordsGiveWay) {
  constexpr std::uint64_t kWritten = 1024 * 3 + 5;
  {
    Trace trace;
    ASSERT_TRUE(trace.open(folder_, 0, 1, 0, "job", 1));
    for (std::uint64_t i = 0; i < kWritten; ++i) trace.event(Event::posted, 0, 0, i);
  }
  const TraceFile file = read(0);
  EXPECT_EQ(file.header().capacity, 1024u) << "the least there is";
  EXPECT_EQ(file.header().written.load(), kWritten);
  for (std::uint64_t n = kWritten - 1024; n < kWritten; ++n) EXPECT_EQ(file.record(n % 1024).a0, n);
}

TEST_F(TraceRing, OutlivesAKilledRank) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    Trace trace;
    if (!trace.open(folder_, 0, 1, 0, "job", 1024)) ::_exit(1);
    for (std::uint64_t i = 0; i < 10; ++i) trace.event(Event::posted, 0, 0, i);
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  const TraceFile file = read(0);
  EXPECT_EQ(file.header().written.load(), 10u);
  EXPECT_EQ(file.header().ticks_end, 0u) << "the rank did not get to its end";
  EXPECT_EQ(file.record(9).a0, 9u);
}

TEST_F(TraceRing, AFolderThatCannotBeMadeIsNamed) {
  Trace trace;
  const auto opened = trace.open("/proc/no/such/folder", 0, 1, 0, "job", 1024);
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().what.find("/proc/no/such/folder/rank-0.rmqtrace"), std::string::npos) << opened.error().what;
  EXPECT_FALSE(trace.on());
}

TEST(TraceEvents, HaveNumbersAndNamesOfTheirOwn) {
  std::vector<bool> seen(256);
  for (const EventKind& e : event_kinds()) {
    const auto number = static_cast<std::size_t>(e.event);
    EXPECT_NE(number, 0u);
    EXPECT_FALSE(seen[number]) << e.name;
    seen[number] = true;
    EXPECT_FALSE(e.meaning.empty()) << e.name;
  }
}

}  // namespace
}  // namespace rmq

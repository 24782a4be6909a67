// SPDX-License-Identifier: BSD-3-Clause
#include "base/record/trace.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <random>
#include <vector>

#include "base/record/trace_stream.hpp"

namespace rmq {
namespace {

const TraceOwner kOwner{0, 1, 0, "job"};

struct TraceFile {
  std::vector<char> bytes;
  const TraceHeader& header() const { return *reinterpret_cast<const TraceHeader*>(bytes.data()); }
  // All that was recorded, the unused ends of segments included.
  std::vector<TraceRecord> records() const {
    const std::uint64_t written = header().written.load();
    const std::uint64_t appended = TraceStream::appended(bytes.size(), written);
    std::vector<TraceRecord> all;
    for (std::uint64_t n = 0; n < written; n += all.back().units) {
      const std::uint64_t at =
          n < appended ? TraceStream::kBodyAt + n * kTraceUnit : sizeof(TraceHeader) + (n - appended) * kTraceUnit;
      TraceRecord r{};
      std::memcpy(static_cast<void*>(&r), bytes.data() + at, kTraceUnit);
      if (r.units == 0 || r.units > kMostTraceUnits) {
        ADD_FAILURE() << "a record of " << r.units << " units at " << n;
        break;
      }
      std::memcpy(static_cast<void*>(&r), bytes.data() + at, r.units * kTraceUnit);
      all.push_back(r);
    }
    return all;
  }
  std::vector<TraceRecord> events() const {
    std::vector<TraceRecord> all = records();
    std::erase_if(all, [](const TraceRecord& r) { return r.event == Event::none; });
    return all;
  }
};

class TraceFiles : public ::testing::Test {
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

TEST_F(TraceFiles, IsOffUntilOpened) {
  Trace trace;
  EXPECT_FALSE(trace.on());
  trace.event(Event::sleep, 0, kNoRank);
  trace.packet(Event::packet_sent, 0, 1, Packet(Kind::SHORT));
}

TEST_F(TraceFiles, WritesAHeaderThatSaysWhoAndHow) {
  {
    Trace trace;
    ASSERT_TRUE(trace.open(folder_, {3, 8, 1, "0123456789abcdef"}, 0));
    EXPECT_TRUE(trace.on());
  }
  const TraceFile file = read(3);
  ASSERT_GE(file.bytes.size(), sizeof(TraceHeader));
  const TraceHeader& h = file.header();
  EXPECT_STREQ(h.magic, "RMQTRC4");
  EXPECT_EQ(h.version, 4u);
  EXPECT_EQ(h.record_bytes, kTraceUnit);
  EXPECT_EQ(h.rank, 3);
  EXPECT_EQ(h.size, 8);
  EXPECT_EQ(h.host, 1u);
  EXPECT_STREQ(h.job, "0123456789abcdef");
  EXPECT_EQ(h.capacity, TraceStream::kSegment) << "the tail";
  EXPECT_EQ(h.written.load(), 0u);
  EXPECT_EQ(file.bytes.size(), TraceStream::kBodyAt);
  EXPECT_GT(h.ns_per_tick, 0.0);
  EXPECT_GE(h.ticks_end, h.ticks_start);
  EXPECT_GE(h.mono_ns_end, h.mono_ns_start);
  EXPECT_GT(h.wall_ns_start, 0u);
}

TEST_F(TraceFiles, KeepsWhatItIsTold) {
  Packet packet(Kind::REQUEST_SEND);
  packet.tag = 17;
  packet.request_send.size = 123456;
  {
    Trace trace;
    ASSERT_TRUE(trace.open(folder_, kOwner, 0));
    trace.packet(Event::packet_sent, 4, 5, packet, 11, 12);
    trace.event(Event::credit, 3, 2, 21, 22);
    Packet bare(Kind::SHORT);
    bare.msg = 9;
    trace.packet(Event::packet_received, 3, 2, bare);
  }
  const TraceFile file = read(0);
  EXPECT_EQ(file.header().written.load(), 3u + 1u + 2u);
  const std::vector<TraceRecord> records = file.records();
  ASSERT_EQ(records.size(), 3u);
  const TraceRecord& first = records[0];
  EXPECT_EQ(first.event, Event::packet_sent);
  EXPECT_EQ(first.method, 4);
  EXPECT_EQ(first.peer, 5);
  EXPECT_EQ(first.a0, 11u);
  EXPECT_EQ(first.a1, 12u);
  EXPECT_EQ(std::memcmp(first.packet, &packet, sizeof first.packet), 0);
  const TraceRecord& second = records[1];
  EXPECT_EQ(second.event, Event::credit);
  EXPECT_EQ(second.a1, 22u);
  EXPECT_GE(second.ticks, first.ticks);
  for (std::byte b : second.packet) EXPECT_EQ(b, std::byte{0});
  Packet third;
  std::memcpy(static_cast<void*>(&third), records[2].packet, sizeof third);
  EXPECT_EQ(third.kind, Kind::SHORT);
  EXPECT_EQ(third.msg, 9u);
}

TEST_F(TraceFiles, NothingIsLostOverManySegments) {
  constexpr std::uint64_t kWritten = TraceStream::kSegment * 2 + 5;
  {
    Trace trace;
    ASSERT_TRUE(trace.open(folder_, kOwner, 0));
    for (std::uint64_t i = 0; i < kWritten; ++i) trace.event(Event::posted, 0, 0, i);
  }
  const TraceFile file = read(0);
  EXPECT_EQ(file.header().dropped.load(), 0u);
  EXPECT_GT(file.bytes.size(), TraceStream::kBodyAt);
  EXPECT_EQ((file.bytes.size() - TraceStream::kBodyAt) % (TraceStream::kSegment * kTraceUnit), 0u);
  const auto events = file.events();
  ASSERT_EQ(events.size(), kWritten);
  for (std::uint64_t n = 0; n < kWritten; ++n) ASSERT_EQ(events[n].a0, n);
}

TEST_F(TraceFiles, RecordsOfAllLengthsEndWithTheirSegment) {
  // Any order of one, two and three units meets the end of a segment in every way.
  std::mt19937 random(1);
  std::vector<std::uint64_t> lengths(TraceStream::kSegment * 10);
  for (auto& units : lengths) units = 1 + random() % 3;
  {
    Trace trace;
    ASSERT_TRUE(trace.open(folder_, kOwner, 0));
    for (std::uint64_t i = 0; i < lengths.size(); ++i) {
      if (lengths[i] == 1) trace.event(Event::posted, 0, 0, i);
      if (lengths[i] == 2) trace.packet(Event::packet_sent, 0, 0, Packet(Kind::SHORT), i);
      if (lengths[i] == 3) trace.packet(Event::packet_sent, 0, 0, Packet(Kind::REQUEST_SEND), i);
    }
  }
  const TraceFile file = read(0);
  EXPECT_EQ(file.header().dropped.load(), 0u) << "nothing for unused ends";
  const auto events = file.events();
  ASSERT_EQ(events.size(), lengths.size());
  for (std::uint64_t i = 0; i < lengths.size(); ++i) {
    ASSERT_EQ(events[i].a0, i);
    ASSERT_EQ(events[i].units, lengths[i]);
  }
  EXPECT_GT(file.records().size(), events.size()) << "no segment had an unused end";
}

TEST_F(TraceFiles, WhatIsBeyondTheLimitIsCounted) {
  constexpr std::uint64_t kSegmentBytes = TraceStream::kSegment * kTraceUnit, kAll = 4 * TraceStream::kSegment;
  struct Case {
    std::uint64_t limit, bytes;  // what is allowed, and what the file has
  };
  for (const auto& [limit, bytes] :
       {Case{1, TraceStream::kBodyAt}, Case{TraceStream::kBodyAt, TraceStream::kBodyAt},
        Case{TraceStream::kBodyAt + kSegmentBytes - 1, TraceStream::kBodyAt},
        Case{TraceStream::kBodyAt + kSegmentBytes, TraceStream::kBodyAt + kSegmentBytes}}) {
    {
      Trace trace;
      ASSERT_TRUE(trace.open(folder_, kOwner, limit));
      for (std::uint64_t i = 0; i < kAll; ++i) trace.event(Event::posted, 0, 0, i);
    }
    const TraceFile file = read(0);
    EXPECT_EQ(file.bytes.size(), bytes);
    EXPECT_EQ(file.header().written.load() * kTraceUnit, bytes - sizeof(TraceHeader)) << "all room is used";
    const auto events = file.events();
    EXPECT_EQ(events.size() + file.header().dropped.load(), kAll);
    EXPECT_GT(events.size() + 2 * kMostTraceUnits, bytes / kTraceUnit - sizeof(TraceHeader) / kTraceUnit);
    for (std::uint64_t n = 0; n < events.size(); ++n) ASSERT_EQ(events[n].a0, n) << "the first are kept";
    EXPECT_EQ(file.header().drop_errno.load(), 0u);
  }
}

TEST_F(TraceFiles, AFullDiskIsCountedNotFatal) {
  // A limit on the size of files stands in for the disk: what is before the tail does not fit for long.
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{TraceStream::kBodyAt + TraceStream::kSegment * kTraceUnit + 4096, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  {
    Trace trace;
    ASSERT_TRUE(trace.open(folder_, kOwner, 0));
    for (std::uint64_t i = 0; i < 2 * TraceStream::kSegment + 7; ++i) trace.event(Event::posted, 0, 0, i);
  }
  ::setrlimit(RLIMIT_FSIZE, &before);
  const TraceFile file = read(0);
  EXPECT_EQ(file.header().written.load(), 2 * TraceStream::kSegment);
  const auto events = file.events();
  EXPECT_EQ(events.size() + file.header().dropped.load(), 2 * TraceStream::kSegment + 7);
  EXPECT_GT(events.size(), 2 * TraceStream::kSegment - 2 * kMostTraceUnits);
  for (std::uint64_t n = 0; n < events.size(); ++n) ASSERT_EQ(events[n].a0, n);
  EXPECT_EQ(file.header().drop_errno.load(), static_cast<std::uint32_t>(EFBIG));
}

// The recorder in memory that somebody else holds.
class Flight : public ::testing::Test {
 protected:
  static constexpr std::uint64_t kBytes = 1 << 20;
  void SetUp() override {
    fd_ = ::memfd_create("flight", MFD_CLOEXEC);
    ASSERT_EQ(::ftruncate(fd_, kBytes), 0);
    memory_ = static_cast<std::byte*>(::mmap(nullptr, kBytes, PROT_READ, MAP_SHARED, fd_, 0));
    ASSERT_NE(memory_, MAP_FAILED);
  }
  void TearDown() override {
    ::munmap(memory_, kBytes);
    ::close(fd_);
  }
  const TraceHeader& header() const { return *reinterpret_cast<const TraceHeader*>(memory_ + kAt); }
  TraceRecord record(std::uint64_t slot) const {
    TraceRecord r{};
    std::memcpy(static_cast<void*>(&r), memory_ + kAt + sizeof(TraceHeader) + slot * kFlightRecordBytes,
                kFlightRecordBytes);
    return r;
  }
  static constexpr std::uint64_t kAt = 8192;
  int fd_ = -1;
  std::byte* memory_ = nullptr;
};

TEST_F(Flight, TheOldestRecordsGiveWay) {
  constexpr std::uint64_t kWritten = 1024 * 3 + 5;
  Trace trace;
  trace.fly(fd_, kAt, kOwner, 1000, call_id("PMPI_Init"));
  ASSERT_TRUE(trace.on());
  EXPECT_FALSE(trace.full());
  EXPECT_EQ(header().capacity, 1024u) << "rounded up to a power of two";
  EXPECT_EQ(header().call.load(), call_id("Init"));
  for (std::uint64_t i = 0; i < kWritten; ++i) trace.event(Event::unanswered, 0, 0, i);
  EXPECT_EQ(header().written.load(), kWritten);
  for (std::uint64_t n = kWritten - 1024; n < kWritten; ++n) ASSERT_EQ(record(n % 1024).a0, n);
}

TEST_F(Flight, LeavesOutDetails) {
  Trace trace;
  trace.fly(fd_, kAt, kOwner, 64, 0);
  trace.event(Event::matched, 0, 0);
  EXPECT_EQ(header().written.load(), 0u);
}

TEST_F(Flight, StaysOffWithoutMemory) {
  Trace trace;
  trace.fly(fd_, kBytes - 4096, kOwner, 1024, 0);
  trace.fly(-1, 0, kOwner, 1024, 0);
  EXPECT_FALSE(trace.on());
}

TEST_F(Flight, KnowsTheCallThatRuns) {
  Trace trace;
  trace.fly(fd_, kAt, kOwner, 64, 0);
  const std::uint32_t recv = call_id("MPI_Recv"), send = call_id("MPI_Send");
  const std::uint32_t outside = trace.enter(recv);
  EXPECT_EQ(header().call.load(), call_id("Recv"));
  const std::uint32_t around = trace.enter(send);
  EXPECT_EQ(header().call.load(), call_id("PMPI_Send"));
  trace.leave(send, around);
  EXPECT_EQ(header().call.load(), recv);
  trace.leave(recv, outside);
  EXPECT_EQ(header().call.load(), 0u);
}

TEST_F(TraceFiles, OutlivesAKilledRank) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    Trace trace;
    if (!trace.open(folder_, kOwner, 0)) ::_exit(1);
    for (std::uint64_t i = 0; i < 10; ++i) trace.event(Event::posted, 0, 0, i);
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  const TraceFile file = read(0);
  EXPECT_EQ(file.header().written.load(), 10u);
  EXPECT_EQ(file.header().ticks_end, 0u) << "the rank did not get to its end";
  EXPECT_EQ(file.events().back().a0, 9u);
}

TEST_F(TraceFiles, AFolderThatCannotBeMadeIsNamed) {
  Trace trace;
  const auto opened = trace.open("/proc/no/such/folder", kOwner, 0);
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

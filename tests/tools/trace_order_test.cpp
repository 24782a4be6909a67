// Reading full traces: hosts whose clocks disagree, and the two ends of each packet.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/trace_stream.hpp"
#include "tools/trace/file.hpp"
#include "tools/trace/join.hpp"

namespace rmq::trace {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kUnknown = ~std::uint64_t{0};

// A trace of one rank on a host of its own: a tick is a nanosecond, and `skew` is what its clock is ahead.
class Rank {
 public:
  Rank(int rank, std::int64_t skew) : skew_(skew) {
    std::memset(static_cast<void*>(&header_), 0, sizeof header_);
    std::memcpy(header_.magic, TraceHeader::kMagic, sizeof header_.magic);
    header_.version = TraceHeader::kVersion;
    header_.record_bytes = kTraceUnit;
    header_.capacity = TraceStream::kSegment;
    header_.rank = rank;
    header_.size = 2;
    header_.host = static_cast<std::uint32_t>(rank);
    header_.ns_per_tick = 1;
    header_.ticks_start = 1000;
    header_.wall_ns_start = static_cast<std::uint64_t>(1'000'000'000 + skew);
    header_.error_ns_start = header_.error_ns_end = kUnknown;
  }
  void knows_offset() {
    header_.offset_ns_start = -skew_;
    header_.error_ns_start = 10;
  }
  void add(Event event, int peer, std::uint32_t msg, std::uint64_t at) {
    TraceRecord r{};
    r.ticks = 1000 + at;
    r.event = event;
    r.peer = peer;
    r.units = kMostTraceUnits;
    Packet p(Kind::SHORT);
    p.msg = msg;
    std::memcpy(r.packet, &p, sizeof r.packet);
    records_.push_back(r);
  }
  void write(const fs::path& folder) {
    header_.written.store(records_.size() * kMostTraceUnits);
    std::ofstream out(folder / ("rank-" + std::to_string(header_.rank) + ".rmqtrace"), std::ios::binary);
    out.write(reinterpret_cast<const char*>(&header_), sizeof header_);
    out.write(reinterpret_cast<const char*>(records_.data()),
              static_cast<std::streamsize>(records_.size() * sizeof(TraceRecord)));  // the tail's first
  }

 private:
  TraceHeader header_;
  std::int64_t skew_;
  std::vector<TraceRecord> records_;
};

class TraceOrder : public ::testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder_); }
  void TearDown() override { fs::remove_all(folder_); }

  // A ping-pong of 1 us each way between two hosts.
  Trace ping_pong(std::int64_t skew, bool known) {
    Rank a(0, 0), b(1, skew);
    if (known) b.knows_offset();
    for (std::uint32_t i = 0; i < 10; ++i) {
      const std::uint64_t at = 2000 * i;
      a.add(Event::packet_sent, 1, i, at);
      b.add(Event::packet_received, 0, i, at + 1000);
      b.add(Event::packet_sent, 0, i, at + 1000);
      a.add(Event::packet_received, 1, i, at + 2000);
    }
    a.write(folder_);
    b.write(folder_);
    auto trace = read(folder_);
    EXPECT_TRUE(trace) << (trace ? "" : trace.error().what);
    return std::move(*trace);
  }
  fs::path folder_ = fs::path(::testing::TempDir()) / ("rmq_trace_order_" + std::to_string(::getpid()));
};

void expect_causal(const Trace& trace) {
  const std::vector<Arrow> arrows = join(trace);
  EXPECT_EQ(arrows.size(), 20u);
  for (const Arrow& a : arrows) {
    ASSERT_NE(a.sent, Arrow::kNone);
    ASSERT_NE(a.received, Arrow::kNone);
    EXPECT_LT(a.sent, a.received) << "the text shows the arrival behind the departure";
    EXPECT_LT(a.sent_ns, a.received_ns);
  }
  std::vector<std::uint64_t> last(2);
  for (const Entry& e : trace.entries) {
    EXPECT_GE(e.record.ticks, last[static_cast<std::size_t>(e.rank)]) << "a rank's own order holds";
    last[static_cast<std::size_t>(e.rank)] = e.record.ticks;
  }
}

TEST_F(TraceOrder, NoArrowRunsBackWhateverTheClocksSay) {
  for (const std::int64_t skew : {-5'000'000, -1500, 0, 1500, 5'000'000}) expect_causal(ping_pong(skew, false));
}

TEST_F(TraceOrder, AKnownOffsetGivesTheTrueTimes) {
  const Trace trace = ping_pong(-5'000'000, true);
  expect_causal(trace);
  for (const Arrow& a : join(trace)) EXPECT_EQ(a.received_ns - a.sent_ns, 1000);
}

TEST_F(TraceOrder, APacketWithoutItsOtherEndStaysAlone) {
  Rank a(0, 0), b(1, 0);
  a.add(Event::packet_sent, 1, 1, 0);
  a.add(Event::packet_sent, 1, 2, 10);
  b.add(Event::packet_received, 0, 2, 20);
  b.add(Event::packet_received, 0, 3, 30);
  a.write(folder_);
  b.write(folder_);
  const auto trace = read(folder_);
  ASSERT_TRUE(trace);
  const std::vector<Arrow> arrows = join(*trace);
  ASSERT_EQ(arrows.size(), 3u);
  EXPECT_EQ(arrows[0].received_ns, -1);
  EXPECT_EQ(arrows[1].received_ns - arrows[1].sent_ns, 10);
  EXPECT_EQ(arrows[2].sent_ns, -1);
}

}  // namespace
}  // namespace rmq::trace

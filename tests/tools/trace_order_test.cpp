// SPDX-License-Identifier: BSD-3-Clause
// Reading full traces: hosts whose clocks disagree, the two ends of each packet, parts of a trace.
#include <gtest/gtest.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/tools/rank_file.hpp"
#include "tools/trace/check_parts.hpp"
#include "tools/trace/links.hpp"
#include "tools/trace/reader.hpp"

namespace rmq::trace {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kUnknown = ~std::uint64_t{0}, kStart = 1'000'000'000;

class TraceOrder : public ::testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder_); }
  void TearDown() override { fs::remove_all(folder_); }

  // A rank on a host of its own, whose clock is `skew` ahead.
  std::unique_ptr<RankFile> rank(int n, int of, std::int64_t skew = 0, bool known = true) {
    auto f = std::make_unique<RankFile>(folder_, TraceOwner{n, of, n, "job"});
    TraceHeader& h = f->header();
    h.mono_ns_start = h.wall_ns_start = kStart + static_cast<std::uint64_t>(skew);
    h.offset_ns_start = -skew;
    if (!known) h.error_ns_start = h.error_ns_end = kUnknown;
    return f;
  }
  static void message(RankFile& f, std::int64_t at, Event e, int peer, std::uint32_t msg) {
    Packet p(Kind::SHORT);
    p.msg = msg;
    f.packet(kStart + static_cast<std::uint64_t>(at), e, peer, p);
  }
  // A ping-pong of 1 us each way between two hosts.
  void ping_pong(std::int64_t skew, bool known) {
    const auto a = rank(0, 2, 0, known), b = rank(1, 2, skew, known);
    for (std::uint32_t i = 0; i < 10; ++i) {
      const std::int64_t at = 2000 * std::int64_t{i};
      message(*a, at, Event::packet_sent, 1, i);
      message(*b, at + 1000, Event::packet_received, 0, i);
      message(*b, at + 1000, Event::packet_sent, 0, i);
      message(*a, at + 2000, Event::packet_received, 1, i);
    }
  }
  std::vector<Entry> read(const Slice& slice = {}) {
    auto reader = Reader::open(folder_);
    EXPECT_TRUE(reader) << (reader ? "" : reader.error().what);
    std::vector<Entry> all;
    const auto shown = reader->each(slice, [&](const Entry& e) {
      all.push_back(e);
      return true;
    });
    EXPECT_TRUE(shown) << (shown ? "" : shown.error().what);
    notes_ = caveats(*reader);
    return all;
  }
  fs::path folder_ = fs::path(::testing::TempDir()) / ("rmq_trace_order_" + std::to_string(::getpid()));
  std::vector<std::string> notes_;
};

// Every packet that arrives has left, before, and in the order of its pair.
void expect_causal(const std::vector<Entry>& all, std::size_t packets) {
  std::map<std::uint64_t, std::int64_t> left;  // by flow
  std::map<int, std::uint64_t> last;
  std::int64_t now = INT64_MIN;
  std::size_t arrived = 0;
  for (const Entry& e : all) {
    EXPECT_GE(e.ns, now) << "time does not turn back";
    now = e.ns;
    EXPECT_GE(e.record.ticks, last[e.rank]) << "a rank's own order holds";
    last[e.rank] = e.record.ticks;
    if (e.sends()) left[e.flow] = e.ns;
    if (!e.receives()) continue;
    ++arrived;
    ASSERT_TRUE(left.contains(e.flow)) << "an arrival before the departure";
    EXPECT_EQ(e.sent_ns, left[e.flow]);
    EXPECT_LT(e.sent_ns, e.ns);
    left.erase(e.flow);
  }
  EXPECT_EQ(arrived, packets);
  EXPECT_TRUE(left.empty());
}

TEST_F(TraceOrder, NoArrowRunsBackWhateverTheClocksSay) {
  for (const std::int64_t skew : {-5'000'000, -1500, 0, 1500, 5'000'000}) {
    ping_pong(skew, false);
    expect_causal(read(), 20);
  }
}

TEST_F(TraceOrder, AKnownOffsetGivesTheTrueTimes) {
  ping_pong(-5'000'000, true);
  const auto all = read();
  expect_causal(all, 20);
  for (const Entry& e : all) {
    if (!e.receives()) continue;
    EXPECT_EQ(e.ns - e.sent_ns, 1000);
  }
}

TEST_F(TraceOrder, APacketWithoutItsOtherEndStaysAlone) {
  {
    const auto a = rank(0, 2), b = rank(1, 2);
    message(*a, 0, Event::packet_sent, 1, 1);
    message(*a, 10, Event::packet_sent, 1, 2);
    message(*b, 20, Event::packet_received, 0, 2);
    message(*b, 30, Event::packet_received, 0, 3);
    message(*b, 40, Event::packet_received, 7, 3);  // of a rank that has no file
  }
  const auto all = read();
  ASSERT_EQ(all.size(), 5u);
  EXPECT_EQ(all[2].flow, all[1].flow);
  EXPECT_EQ(all[2].ns - all[2].sent_ns, 10);
  EXPECT_EQ(all[3].flow, 0u);
  EXPECT_EQ(all[4].flow, 0u);
}

// Two ranks that wait for what the other has not written: a trace that a damaged disk may leave.
TEST_F(TraceOrder, ACircleOfArrivalsEnds) {
  {
    const auto a = rank(0, 2), b = rank(1, 2);
    for (RankFile* f : {a.get(), b.get()}) {
      const int peer = f == a.get() ? 1 : 0;
      message(*f, 10, Event::packet_received, peer, 1);
      message(*f, 20, Event::packet_sent, peer, 1);
    }
  }
  EXPECT_EQ(read().size(), 4u);
}

// The order by definition, with the whole trace in memory: each event is as late as its clock says, its rank's own
// order demands, and the departure of what arrives; events of one time stand by rank.
struct Whole {
  int rank;
  std::int64_t ns;
  Event event;
  int peer;
  std::uint32_t msg;
};
std::vector<Whole> order(std::vector<std::vector<Whole>> lanes) {
  std::map<std::tuple<int, int, std::uint32_t>, std::int64_t> left;
  for (bool changed = true; changed;) {
    changed = false;
    for (auto& lane : lanes) {
      std::int64_t now = INT64_MIN;
      for (Whole& w : lane) {
        std::int64_t ns = std::max(now, w.ns);
        if (w.event == Event::packet_received) {
          if (const auto s = left.find({w.peer, w.rank, w.msg}); s != left.end()) ns = std::max(ns, s->second + 1);
        }
        if (w.event == Event::packet_sent && std::exchange(left[{w.rank, w.peer, w.msg}], ns) != ns) changed = true;
        changed |= w.ns != ns;
        now = w.ns = ns;
      }
    }
  }
  std::vector<Whole> all;
  for (const auto& lane : lanes) all.insert(all.end(), lane.begin(), lane.end());
  std::stable_sort(all.begin(), all.end(), [](const Whole& a, const Whole& b) { return a.ns < b.ns; });
  return all;
}

TEST_F(TraceOrder, TheStreamHasTheOrderOfTheWholeTrace) {
  for (unsigned seed = 0; seed < 30; ++seed) {
    std::mt19937 random(seed);
    const int ranks = 2 + static_cast<int>(random() % 4);
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    const std::int64_t spread = seed % 3 == 0 ? 1 : 20'000;  // ns by which clocks disagree
    std::vector<std::vector<Whole>> lanes(static_cast<std::size_t>(ranks));
    std::vector<std::int64_t> skew;
    for (int r = 0; r < ranks; ++r) skew.push_back(static_cast<std::int64_t>(random() % static_cast<unsigned>(spread)));
    std::map<std::pair<int, int>, std::vector<std::int64_t>> way;  // when the packets of a pair will have come
    std::map<std::pair<int, int>, std::uint32_t> sent, came;
    for (std::int64_t now = 0; now < 40'000; now += static_cast<std::int64_t>(random() % 200)) {
      for (auto& [pair, times] : way) {
        while (came[pair] < times.size() && times[came[pair]] <= now) {
          auto& lane = lanes[static_cast<std::size_t>(pair.second)];
          lane.push_back({pair.second, now, Event::packet_received, pair.first, came[pair]++});
        }
      }
      const int from = static_cast<int>(random() % static_cast<unsigned>(ranks)), to = (from + 1) % ranks;
      if (random() % 3 == 0) {
        lanes[static_cast<std::size_t>(from)].push_back({from, now, Event::sleep, -1, 0});
        continue;
      }
      auto& times = way[{from, to}];
      lanes[static_cast<std::size_t>(from)].push_back({from, now, Event::packet_sent, to, sent[{from, to}]++});
      times.push_back(std::max(times.empty() ? 0 : times.back(), now + static_cast<std::int64_t>(random() % 3000)));
    }
    for (int r = 0; r < ranks; ++r) {
      const auto file = rank(r, ranks, skew[static_cast<std::size_t>(r)], false);
      for (const Whole& w : lanes[static_cast<std::size_t>(r)]) {
        if (w.event == Event::sleep)
          file->event(kStart + static_cast<std::uint64_t>(w.ns), w.event, -1);
        else
          message(*file, w.ns, w.event, w.peer, w.msg);
      }
      for (Whole& w : lanes[static_cast<std::size_t>(r)]) w.ns += skew[static_cast<std::size_t>(r)];
    }
    const std::vector<Entry> stream = read();
    const std::vector<Whole> whole = order(lanes);
    ASSERT_EQ(stream.size(), whole.size());
    for (std::size_t i = 0; i < stream.size(); ++i) {
      ASSERT_EQ(stream[i].ns, whole[i].ns - whole[0].ns) << "event " << i << ", seed " << seed;
      ASSERT_EQ(stream[i].rank, whole[i].rank) << "event " << i << ", seed " << seed;
      ASSERT_EQ(stream[i].record.event, whole[i].event) << "event " << i << ", seed " << seed;
    }
  }
}

TEST_F(TraceOrder, AStepOfTheDateMovesNoEventAndIsNamed) {
  {
    const auto a = rank(0, 1);
    for (int i = 0; i < 100; ++i) a->event(kStart + 1'000'000u * static_cast<unsigned>(i), Event::sleep, -1);
    a->finish(kStart + 100'000'000);
    a->header().wall_ns_start += 3'000'000'000;  // somebody sets the date back by three seconds
  }
  const auto all = read();
  EXPECT_EQ(all.back().ns, 99'000'000) << "a date that is set is no drift of the clock";
  ASSERT_EQ(notes_.size(), 1u);
  EXPECT_NE(notes_[0].find("host 0 was set by -3.000 s"), std::string::npos) << notes_[0];
}

class TraceSlices : public TraceOrder {
 protected:
  // Some 40 segments of two ranks, an event each microsecond.
  static constexpr std::uint64_t kEvents = 40 * TraceStream::kSegment;
  void SetUp() override {
    TraceOrder::SetUp();
    const auto a = rank(0, 2), b = rank(1, 2);
    for (std::uint64_t i = 0; i < kEvents; ++i) {
      a->event(kStart + i * 1000, Event::posted, 1, i);
      if (i % 16 == 0) b->event(kStart + i * 1000, Event::posted, 0, i);
    }
  }
  // Makes one segment of rank 0 unreadable.
  void damage(std::uint64_t segment) {
    std::fstream f(folder_ / "rank-0.rmqtrace", std::ios::in | std::ios::out | std::ios::binary);
    f.seekp(static_cast<std::streamoff>(TraceStream::kBodyAt + segment * TraceStream::kSegment * kTraceUnit + 64));
    f << std::string(4096, '\xff');
  }
};

TEST_F(TraceSlices, APartIsWhatTheWholeHasThere) {
  const auto whole = read();
  for (const auto& [from, to] : {std::pair{0.0, 10.0}, {100'000.0, 100'020.0}, {327'000.5, 1e9}, {1e8, 1e9}}) {
    std::vector<Entry> wanted;
    for (const Entry& e : whole) {
      const double us = static_cast<double>(e.ns) / 1000;
      if (us >= from && us <= to) wanted.push_back(e);
    }
    const auto part = read({{}, from, to});
    ASSERT_EQ(part.size(), wanted.size()) << from;
    for (std::size_t i = 0; i < part.size(); ++i) {
      ASSERT_EQ(part[i].ns, wanted[i].ns);
      ASSERT_EQ(part[i].rank, wanted[i].rank);
    }
  }
  const auto one = read({1, {}, {}});
  EXPECT_EQ(one.size(), kEvents / 16);
  EXPECT_TRUE(std::all_of(one.begin(), one.end(), [](const Entry& e) { return e.rank == 1; }));
}

TEST_F(TraceSlices, NothingElseIsRead) {
  damage(3);
  damage(38);
  auto reader = Reader::open(folder_);
  ASSERT_TRUE(reader);
  const auto nothing = [](const Entry&) { return true; };
  const auto all = reader->each({}, nothing);
  ASSERT_FALSE(all);
  EXPECT_NE(all.error().what.find("rank-0.rmqtrace is damaged behind its event"), std::string::npos)
      << all.error().what;
  const double middle = kEvents / 2;  // microseconds
  EXPECT_TRUE(reader->each({{}, middle, middle + 1000}, nothing));
  EXPECT_TRUE(reader->each({1, {}, {}}, nothing));
}

TEST_F(TraceSlices, FilesOfTwoJobsAreRefused) {
  { RankFile other(folder_, TraceOwner{1, 2, 1, "another"}); }
  const auto reader = Reader::open(folder_);
  ASSERT_FALSE(reader);
  EXPECT_NE(reader.error().what.find("rank-1.rmqtrace is of another job"), std::string::npos) << reader.error().what;
}

// A job of 1,000 ranks has a million pairs of ranks, most of which have nothing on its way.
TEST(TraceLinks, ThatAreEmptyTakeLittleMemory) {
  constexpr int kRanks = 100;
  const auto bytes_a_pair = [](auto&& each) {
    const std::size_t before = ::mallinfo2().uordblks;
    for (int i = 0; i < kRanks * kRanks; ++i) each(i / kRanks, i % kRanks);
    return (::mallinfo2().uordblks - before) / (kRanks * kRanks);
  };
  const Packet p(Kind::SHORT);
  Links links;
  EXPECT_LT(bytes_a_pair([&](int from, int to) {
              Departure d{0, 1, p};
              links.of(from, to).depart(d);
              EXPECT_TRUE(links.of(from, to).arrive(p, d));
            }),
            150u);
  LinkOrder order({});
  EXPECT_LT(bytes_a_pair([&](int from, int to) {
              Entry e;
              e.rank = from;
              e.record.peer = to;
              e.record.event = Event::packet_sent;
              EXPECT_FALSE(order.look(e, p));
              std::swap(e.rank, e.record.peer);
              e.record.event = Event::packet_received;
              EXPECT_FALSE(order.look(e, p));
            }),
            150u);
}

}  // namespace
}  // namespace rmq::trace

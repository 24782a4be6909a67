// SPDX-License-Identifier: BSD-3-Clause
// Makes a trace of any size that obeys the protocol: two ranks that exchange messages, short and long.
//   tools_long_trace DIR MEGABYTES
#include <cstdlib>
#include <filesystem>

#include "adi/device.hpp"
#include "base/packet/handle.hpp"
#include "tests/tools/rank_file.hpp"

namespace {

using namespace rmq;

constexpr std::uint64_t kCredit = 1 << 20, kNsAnEvent = 300;
constexpr std::uint32_t kLength = 100, kFlowEvery = 32, kLongEvery = 10;

class Talk {
 public:
  explicit Talk(const std::string& folder) : ranks_{{folder, {0, 2, 0, "long"}}, {folder, {1, 2, 0, "long"}}} {
    for (int r = 0; r < 2; ++r) event(r, Event::credit, -1, 0, kCredit);
  }
  ~Talk() {
    for (auto& r : ranks_) r.finish(now_);
  }
  std::uint64_t bytes() { return (ranks_[0].header().written + ranks_[1].header().written) * kTraceUnit; }

  // One message from `from`, which the other has posted a receive for.
  void message(int from, std::uint32_t n) {
    const int to = 1 - from;
    event(to, Event::call_enter, -1, call_id("Recv"));
    event(to, Event::posted, from, 0, 7);
    event(from, Event::call_enter, -1, call_id("Send"));
    const bool is_long = n % kLongEvery == 0;
    Packet p(is_long ? Kind::REQUEST_SEND : Kind::SHORT);
    p.msg = n;
    p.tag = 7;
    p.length = is_long ? 0 : kLength;
    const Handle handle{static_cast<std::uint32_t>(from), 2 * n + 1};
    if (is_long) p.request_send = {1 << 20, handle.wire(), 4096};
    spent_[from] += adi::kMessageRecord + p.length;
    travel(from, to, p);
    packet(to, Event::matched, from, p, 1);
    if (is_long) {
      Packet done(Kind::RNDV_DONE);
      done.msg = n;
      done.rndv_done = {handle.wire(), 1 << 20};
      travel(to, from, done);
    }
    event(from, Event::call_leave, -1, call_id("Send"));
    event(to, Event::call_leave, -1, call_id("Recv"));
    if (n % kFlowEvery != 0) return;
    Packet flow(Kind::FLOW);
    flow.credit = static_cast<std::uint32_t>(spent_[from]);
    travel(to, from, flow);
    event(from, Event::credit, to, spent_[from], kCredit);
    spent_[from] = 0;
  }

 private:
  void event(int rank, Event e, int peer, std::uint64_t a0, std::uint64_t a1 = 0) {
    ranks_[rank].event(now_ += kNsAnEvent, e, peer, a0, a1);
  }
  void packet(int rank, Event e, int peer, const Packet& p, std::uint64_t a0) {
    ranks_[rank].packet(now_ += kNsAnEvent, e, peer, p, a0);
  }
  void travel(int from, int to, const Packet& p) {
    packet(from, Event::packet_sent, to, p, p.length);
    packet(to, Event::packet_received, from, p, p.length);
  }

  trace::RankFile ranks_[2];
  std::uint64_t now_ = 1'000'000'000, spent_[2] = {};
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  std::filesystem::create_directories(argv[1]);
  Talk talk(argv[1]);
  const std::uint64_t wanted = std::strtoull(argv[2], nullptr, 10) << 20;
  for (std::uint32_t n = 1; talk.bytes() < wanted; ++n) {
    talk.message(0, n);
    talk.message(1, n);
  }
  return 0;
}

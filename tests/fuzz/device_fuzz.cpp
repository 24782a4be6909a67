// SPDX-License-Identifier: BSD-3-Clause
// A device with receives, sends and cancels under way, and a peer that sends whatever the script says. Memory beyond
// the receives' is never touched (the sanitizers watch), unexpected memory keeps its bound, and the rank goes on with
// others.
#include <algorithm>
#include <memory>

#include "adi/device.hpp"
#include "fuzz/fuzz.hpp"
#include "fuzz/hostile_world.hpp"
#include "fuzz/packet_script.hpp"

namespace rmq::fuzz {
namespace {

using testing::HostileWorld;
using Bytes = std::vector<std::byte>;

enum Act : std::uint8_t { kReceive, kSend, kCancel, kFree, kPoll, kPacket, kProbe, kActs };
constexpr std::size_t kSizes[] = {0, 1, 24, 25, 100, 1000, 5000, 70000};
constexpr std::size_t kMostActs = 64;

class Play {
 public:
  explicit Play(Reader& in) : in_(in), world_(rules(in), [](Config& c) { c.unexpected_max = 2 * 64 * 1024; }) {}

  void run() {
    for (std::size_t i = 0; i < kMostActs && !in_.done(); ++i) act(static_cast<Act>(in_.pick(kActs)));
    world_.settle();
    const adi::Device& victim = world_.victim();
    // Envelopes beyond the credit have a bound of their own.
    require(victim.counters().unexpected_peak <=
                victim.unexpected_ceiling() + victim.config().envelopes_max * adi::kMessageRecord,
            "unexpected memory stays below its ceiling");
    go_on_with_others();
  }

 private:
  struct Op {
    Bytes data;
    Request* request;
  };

  static methods::InprocRules rules(Reader& in) {
    const std::uint8_t seed = in.u8();
    methods::InprocRules r = seed == 0 ? methods::InprocRules{} : methods::InprocRules::drawn(seed);
    r.eager_max = std::max<std::size_t>(r.eager_max, 100);
    r.fragment_max = std::max<std::size_t>(r.fragment_max, 1024);
    r.latency_ns = std::min<std::uint64_t>(r.latency_ns, 3000);  // each poll takes 100
    return r;
  }

  void act(Act what) {
    adi::Device& d = world_.victim();
    switch (what) {
      case kReceive: {
        constexpr Rank kFrom[] = {HostileWorld::kHostile, kAnySource, HostileWorld::kBystander};
        const Rank from = kFrom[in_.pick(3)];
        const int tag = tag_of(in_);
        Op& op = fresh();
        op.request = HostileWorld::irecv(d, from, tag, op.data);
        break;
      }
      case kSend: {
        constexpr SendMode kModes[] = {SendMode::standard, SendMode::synchronous, SendMode::ready};
        const SendMode mode = kModes[in_.pick(3)];
        const Rank to = in_.pick(8) == 0 ? HostileWorld::kBystander : HostileWorld::kHostile;
        const int tag = static_cast<int>(in_.pick(4));
        Op& op = fresh();
        op.request = HostileWorld::isend(d, to, tag, op.data, mode);
        break;
      }
      case kCancel:
        if (Op* op = any(); op && op->request) d.MPID_Cancel(op->request);
        break;
      case kFree:
        // Only what is complete: the memory of others is in use.
        if (Op* op = any(); op && op->request && op->request->complete()) {
          d.MPID_Request_free(op->request);
          op->request = nullptr;
        }
        break;
      case kPoll:
        for (std::size_t n = in_.pick(16); n > 0; --n) world_.turn();
        break;
      case kPacket: {
        const Packet p = read_packet(in_, known());
        Bytes payload(in_.u16() % 1025, std::byte{0x77});
        if (p.kind == Kind::SHORT && in_.pick(8) == 0) payload.clear();
        world_.send(p, payload);
        break;
      }
      default: {
        const Match pattern{1, in_.pick(2) ? kAnySource : HostileWorld::kHostile, tag_of(in_)};
        adi::Envelope envelope;
        if (Request* message = d.MPID_Improbe(pattern, envelope)) {
          Op& op = fresh();
          op.request = d.MPID_Request_create(RequestKind::recv);
          op.request->match = pattern;
          op.request->view = DataView::contiguous(op.data.data(), op.data.size());
          d.MPID_Imrecv(op.request, message);
        }
      }
    }
  }

  static int tag_of(Reader& in) {
    const std::size_t tag = in.pick(5);
    return tag == 4 ? kAnyTag : static_cast<int>(tag);
  }
  Op& fresh() {
    ops_.push_back(std::make_unique<Op>());
    ops_.back()->data.resize(kSizes[in_.pick(std::size(kSizes))]);
    return *ops_.back();
  }
  Op* any() { return ops_.empty() ? nullptr : ops_[in_.pick(ops_.size())].get(); }

  /// Small numbers, then handles of what is under way, what the peer was told, and sizes.
  Known known() const {
    Known words = {0, 1, 8, 1000, 5000, 70000};
    for (const auto& op : ops_) {
      if (op->request) words.push_back(op->request->self.wire());
    }
    for (auto heard = world_.heard.rbegin(); heard != world_.heard.rend() && words.size() < 200; ++heard) {
      for (const PacketField& field : find_packet_kind(heard->kind)->fields)
        words.push_back(packet_field(*heard, field));
    }
    return words;
  }

  void go_on_with_others() {
    Op &from = fresh(), &into = fresh();
    from.data.assign(5000, std::byte{0x42});
    into.data.assign(5000, std::byte{0});
    // In a context of their own: receives from anybody may still be posted in the other.
    from.request = HostileWorld::isend(world_.bystander(), HostileWorld::kVictim, 99, from.data, SendMode::standard, 2);
    into.request = HostileWorld::irecv(world_.victim(), HostileWorld::kBystander, 99, into.data, 2);
    for (int i = 0; i < 20 && !(from.request->complete() && into.request->complete()); ++i) world_.settle();
    require(from.request->complete() && into.request->complete(), "ranks that keep the protocol go on");
    require(into.data == from.data, "their data arrives");
  }

  Reader& in_;
  std::vector<std::unique_ptr<Op>> ops_;  // outlives the devices, which may use the memory
  HostileWorld world_;
};

}  // namespace

/// For each packet of the device a play in which it is what may come now, and one of each kind alone.
std::vector<Script> seeds() {
  std::vector<Script> all;
  constexpr std::size_t kBig = std::size(kSizes) - 1, kShort = 4, kFirstHandle = 6;
  const auto packet = [](Writer& w, std::string_view name, std::size_t first_known, std::size_t payload) {
    for (std::size_t place = 0; place < packet_kinds().size(); ++place) {
      if (packet_kinds()[place].name.substr(8) != name) continue;
      w.u8(kPacket);
      write_packet(w, place, 0, 1, 0, 1, first_known);
      w.u16(payload).u8(1);
    }
    w.u8(kPoll).u8(15);
  };
  for (const std::size_t rules : {0, 1, 2, 3}) {
    for (std::size_t size : {kBig, kShort}) {
      for (std::size_t mode : {0, 1}) {
        const auto receive = [&](Writer& w) { w.u8(rules).u8(kReceive).u8(0).u8(0).u8(size); };
        const auto send = [&](Writer& w) { w.u8(rules).u8(kSend).u8(mode).u8(1).u8(0).u8(size).u8(kPoll).u8(15); };
        for (const char* answer : {"OK_TO_SEND", "RNDV_DONE", "SYNC_ACK", "ANTI_SEND_OK"}) {
          for (const bool cancel : {false, true}) {
            Writer w;
            send(w);
            if (cancel) w.u8(kCancel).u8(0);
            packet(w, answer, kFirstHandle, 0);
            packet(w, answer, kFirstHandle, 0);
            all.push_back(w.script);
          }
        }
        Writer w;
        receive(w);
        packet(w, "REQUEST_SEND", 5, 0);
        packet(w, "RNDV_DATA", kFirstHandle, 1024);
        packet(w, "RNDV_DONE", kFirstHandle, 0);
        all.push_back(w.script);
        Writer late;
        late.u8(rules);
        packet(late, "REQUEST_SEND", 5, 0);
        packet(late, "SHORT_SYNC", 5, 1000);
        packet(late, "SHORT", 5, 1000);
        packet(late, "ANTI_SEND", 5, 0);
        late.u8(kProbe).u8(0).u8(0).u8(size);
        late.u8(kReceive).u8(1).u8(4).u8(size);
        all.push_back(late.script);
      }
    }
  }
  for (std::size_t place = 0; place < packet_kinds().size(); ++place) {
    Writer w;
    w.u8(0).u8(kReceive).u8(0).u8(0).u8(kBig).u8(kSend).u8(0).u8(1).u8(0).u8(kBig);
    w.u8(kPacket);
    write_packet(w, place, 0, 1, 0, 1, kFirstHandle);
    w.u16(100).u8(1);
    all.push_back(w.script);
  }
  return all;
}

}  // namespace rmq::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  rmq::fuzz::Reader in(data, bytes);
  rmq::fuzz::Play(in).run();
  return 0;
}

// SPDX-License-Identifier: BSD-3-Clause
// Packets that no rank of ours would send at that moment. Whatever comes, the device touches no memory but that of the
// receives it is for, keeps no more than its peer has credit for, and drops the peer with an error that names it; what
// other ranks have to do with this one goes on.
#include <gtest/gtest.h>

#include <cstring>

#include "adi/device.hpp"
#include "fuzz/hostile_world.hpp"

namespace rmq::testing {
namespace {

using Bytes = std::vector<std::byte>;
constexpr std::byte kUntouched{0x5a}, kSent{0xa5};
constexpr std::size_t kLong = 100000;  // bytes; beyond every eager_max here

Packet packet(Kind kind, int tag = 0) {
  Packet p(kind);
  p.context = 1;
  p.source = HostileWorld::kHostile;
  p.tag = tag;
  return p;
}

Packet request_send(int tag, std::uint64_t size) {
  Packet p = packet(Kind::REQUEST_SEND, tag);
  p.request_send = {size, 0x1234, 0};
  return p;
}

Packet rndv_data(std::uint64_t receiver, std::uint64_t offset) {
  Packet p = packet(Kind::RNDV_DATA);
  p.rndv_data = {receiver, offset};
  return p;
}

Packet rndv_done(std::uint64_t request, std::uint64_t size) {
  Packet p = packet(Kind::RNDV_DONE);
  p.rndv_done = {request, size};
  return p;
}

Packet ok_to_send(std::uint64_t sender, std::uint64_t size) {
  Packet p = packet(Kind::OK_TO_SEND);
  p.ok_to_send = {sender, 0x1234, size, 0};
  return p;
}

Packet anti_send_ok(std::uint64_t sender, std::uint32_t cancelled) {
  Packet p = packet(Kind::ANTI_SEND_OK);
  p.anti_send_ok = {sender, cancelled};
  return p;
}

class Hostile : public ::testing::Test {
 protected:
  void open(methods::InprocRules rules = {}, const std::function<void(Config&)>& adjust = {}) {
    rules.no_expose = 1000;  // data travels as packets
    w_ = std::make_unique<HostileWorld>(rules, adjust);
  }
  HostileWorld& w() { return *w_; }
  adi::Device& victim() { return w().victim(); }
  Request* irecv(Bytes& into, int tag = 0) { return HostileWorld::irecv(victim(), HostileWorld::kHostile, tag, into); }
  Request* isend(Bytes& data, SendMode mode = SendMode::standard, int tag = 0) {
    return HostileWorld::isend(victim(), HostileWorld::kHostile, tag, data, mode);
  }

  /// The hostile rank has been dropped with such words, and nobody else minds.
  void expect_dropped(std::string_view kind, std::string_view why) {
    w().settle();
    const std::string error(victim().peer_error(HostileWorld::kHostile));
    EXPECT_EQ(victim().counters().protocol_errors, 1u) << error;
    EXPECT_NE(error.find("rank 1 breaks the protocol"), std::string::npos) << error;
    EXPECT_NE(error.find(kind), std::string::npos) << error;
    EXPECT_NE(error.find(why), std::string::npos) << error;
    EXPECT_TRUE(w().lost()) << "the other end of the connection stays open";
    Bytes data(kLong, kSent), into(kLong, kUntouched);
    Request* recv = HostileWorld::irecv(victim(), HostileWorld::kBystander, 9, into);
    Request* send = HostileWorld::isend(w().bystander(), HostileWorld::kVictim, 9, data);
    w().settle();
    EXPECT_TRUE(recv->complete() && send->complete());
    EXPECT_EQ(into, data);
  }
  static void expect_failed(const Request* r) {
    EXPECT_TRUE(r->complete());
    EXPECT_EQ(r->status.error, Errc::peer_lost);
  }

  std::unique_ptr<HostileWorld> w_;
};

// The request has once waited for much data, and so has the slot of the pool that it stands in.
TEST_F(Hostile, DataForAReceiveThatIsPostedStill) {
  open();
  Bytes large(kLong, kUntouched);
  Request* first = irecv(large, 1);
  w().send(request_send(1, kLong));
  w().settle();
  const Packet ok = w().last(Kind::OK_TO_SEND);
  ASSERT_EQ(ok.ok_to_send.size, kLong);
  for (std::uint64_t at = 0; at < kLong; at += 10000)
    w().send(rndv_data(ok.ok_to_send.receiver, at), Bytes(10000, kSent));
  w().settle();
  ASSERT_TRUE(first->complete());
  EXPECT_EQ(large, Bytes(kLong, kSent));
  victim().MPID_Request_free(first);

  Bytes memory(kLong, kUntouched);
  Request* r = victim().MPID_Request_create(RequestKind::recv);
  ASSERT_EQ(r, first) << "the same slot";
  r->peer = HostileWorld::kHostile;
  r->match = {1, HostileWorld::kHostile, 2};
  r->view = DataView::contiguous(memory.data(), 8);
  victim().MPID_Irecv(r);
  w().send(rndv_data(r->self.wire(), 500), Bytes(1000, kSent));
  expect_dropped("RNDV_DATA", "no receive of this handle");
  EXPECT_EQ(memory, Bytes(kLong, kUntouched));
  expect_failed(r);
  EXPECT_EQ(victim().posted(), 0u);
}

TEST_F(Hostile, AnEndForAReceiveThatIsPostedStill) {
  open();
  Bytes memory(8, kUntouched);
  Request* r = irecv(memory);
  w().send(rndv_done(r->self.wire(), 8));
  expect_dropped("RNDV_DONE", "of this handle");
  expect_failed(r);
  EXPECT_EQ(victim().posted(), 0u);
}

TEST_F(Hostile, DataThatIsNotTheNextPiece) {
  struct Piece {
    std::uint64_t offset;
    std::size_t bytes;
  };
  for (const Piece bad : {Piece{0, 1000}, Piece{500, 1000}, Piece{2000, 1000}, Piece{1000, 0}, Piece{1000, kLong},
                          Piece{~std::uint64_t{0}, 1}, Piece{~std::uint64_t{0} - 999, 2000}}) {
    methods::InprocRules rules;
    rules.fragment_max = 2 * kLong;
    open(rules);
    Bytes memory(2 * kLong, kUntouched);
    Request* r = victim().MPID_Request_create(RequestKind::recv);
    r->peer = HostileWorld::kHostile;
    r->match = {1, HostileWorld::kHostile, 0};
    r->view = DataView::contiguous(memory.data(), kLong);
    victim().MPID_Irecv(r);
    w().send(request_send(0, 2 * kLong));
    w().settle();
    const Packet ok = w().last(Kind::OK_TO_SEND);
    ASSERT_EQ(ok.ok_to_send.size, kLong) << "no more than there is room for";
    w().send(rndv_data(ok.ok_to_send.receiver, 0), Bytes(1000, kSent));
    w().send(rndv_data(ok.ok_to_send.receiver, bad.offset), Bytes(bad.bytes, std::byte{1}));
    expect_dropped("RNDV_DATA", "not the next piece");
    EXPECT_TRUE(std::all_of(memory.begin() + 1000, memory.end(), [](std::byte b) { return b == kUntouched; }));
    expect_failed(r);
  }
}

TEST_F(Hostile, AnEndWhereThereWasNothingToWriteTo) {
  open();
  Bytes memory(kLong, kUntouched);
  Request* r = irecv(memory);
  w().send(request_send(0, kLong));
  w().settle();
  w().send(rndv_done(w().last(Kind::OK_TO_SEND).ok_to_send.receiver, kLong));
  expect_dropped("RNDV_DONE", "of this handle");
  expect_failed(r);
}

TEST_F(Hostile, MessagesBeyondTheCredit) {
  constexpr std::size_t kCeiling = 64 * 1024;
  open({}, [](Config& c) { c.unexpected_max = 2 * kCeiling; });
  std::size_t sent = 0;
  for (; sent < 1000 && victim().counters().protocol_errors == 0; ++sent) {
    if (!w().send(packet(Kind::SHORT, static_cast<int>(sent)), Bytes(1000, kSent))) break;
    w().turn();
  }
  EXPECT_LE(victim().counters().unexpected_peak, kCeiling);
  EXPECT_GE(sent, kCeiling / (1000 + adi::kMessageRecord));
  expect_dropped("SHORT", "beyond the sender's credit (RMQ_UNEXPECTED_MAX");
}

TEST_F(Hostile, OneMessageBeyondTheCredit) {
  for (const int pieces : {0, 1000}) {  // at hand, or still in the transport
    methods::InprocRules rules;
    rules.eager_max = 1 << 20;
    rules.pieces = pieces;
    open(rules, [](Config& c) { c.unexpected_max = 1; });
    w().send(packet(Kind::SHORT), Bytes(1 << 20, kSent));
    expect_dropped("SHORT", "beyond the sender's credit");
    EXPECT_EQ(victim().counters().unexpected_bytes, 0u);
  }
}

TEST_F(Hostile, EnvelopesBeyondTheCredit) {
  open();
  for (const bool marked : {false, true}) {
    open({}, [](Config& c) { c.unexpected_max = 1; });
    Packet p = request_send(0, kLong);
    if (marked) p.flags = packet_flag::envelope;
    for (int i = 0; i < 1000 && victim().counters().protocol_errors == 0; ++i) {
      if (!w().send(p)) break;
      w().turn();
    }
    expect_dropped("REQUEST_SEND", marked ? "was not asked for" : "beyond the sender's credit");
  }
}

TEST_F(Hostile, HeadersThatNoMessageHas) {
  struct Case {
    const char* what;
    std::function<void(Packet&)> change;
    std::string why;
    std::size_t payload = 0;
    Kind kind = Kind::SHORT;
  };
  const Case cases[] = {
      {"a source beyond the job", [](Packet& p) { p.source = 3; }, "its source is no rank"},
      {"a negative source", [](Packet& p) { p.source = kAnySource; }, "its source is no rank"},
      {"a marked message", [](Packet& p) { p.flags = packet_flag::envelope; }, "only bare envelopes"},
      {"a source beyond the job, in an envelope", [](Packet& p) { p.source = 1 << 30; }, "its source is no rank", 0,
       Kind::REQUEST_SEND},
      {"an envelope with a payload", [](Packet&) {}, "has a payload", 8, Kind::REQUEST_SEND},
      {"an acknowledgement with a payload", [](Packet&) {}, "has a payload", 8, Kind::SYNC_ACK},
      {"more credit than was spent", [](Packet& p) { p.credit = 1; }, "more credit", 0, Kind::FLOW},
      {"a kind of the link", [](Packet&) {}, "no packet of this kind", 0, Kind::LINK_CLOSE},
      {"no kind", [](Packet& p) { p.kind = static_cast<Kind>(255); }, "no packet of this kind"},
      {"no kind, and a payload", [](Packet& p) { p.kind = static_cast<Kind>(31); }, "no packet of this kind", 100},
  };
  for (const int pieces : {0, 1000}) {
    for (const Case& one : cases) {
      SCOPED_TRACE(one.what);
      methods::InprocRules rules;
      rules.pieces = pieces;
      open(rules);
      Packet p = packet(one.kind);
      one.change(p);
      w().send(p, Bytes(one.payload, kSent));
      expect_dropped("RMQ_PKT_", one.payload != 0 && pieces != 0 ? "" : one.why);
      EXPECT_EQ(victim().unexpected(), 0u);
    }
  }
}

// It would take the place of the one that was refused.
TEST_F(Hostile, AMessageBehindOneThatIsRefused) {
  for (const int pieces : {0, 1000}) {  // at hand, or still in the transport
    for (const Kind kind : {Kind::SHORT, Kind::REQUEST_SEND}) {
      methods::InprocRules rules;
      rules.pieces = pieces;
      open(rules);
      Bytes memory(kLong, kUntouched);
      Request* r = irecv(memory);
      Packet refused = packet(Kind::SHORT);
      refused.source = 3;
      w().send(refused, Bytes(8, kSent));
      if (kind == Kind::SHORT)
        w().send(packet(kind), Bytes(8, kSent));
      else
        w().send(request_send(0, kLong));
      expect_dropped("SHORT", "its source is no rank");
      expect_failed(r);
      EXPECT_EQ(memory, Bytes(kLong, kUntouched));
      EXPECT_EQ(w().last(Kind::OK_TO_SEND).kind, Kind::none);
    }
  }
}

// Nothing waits for them, so they do not add up.
TEST_F(Hostile, EnvelopesThatNobodyWantsAreGivenBack) {
  open();
  Packet p = packet(Kind::FLOW);
  p.flow.envelopes = ~std::uint32_t{0};
  for (std::size_t i = 1; i <= 3; ++i) {
    ASSERT_TRUE(w().send(p));
    w().settle();
    EXPECT_EQ(w().heard.size(), i);
    EXPECT_EQ(w().last(Kind::FLOW).flow.envelopes, p.flow.envelopes);
    EXPECT_EQ(w().last(Kind::FLOW).flags, packet_flag::envelope);
  }
}

TEST_F(Hostile, EnvelopesGivenBackThatWereNotGranted) {
  open();
  Packet p = packet(Kind::FLOW);
  p.flags = packet_flag::envelope;
  p.flow.envelopes = 1;
  w().send(p);
  expect_dropped("FLOW", "more than it has");
}

TEST_F(Hostile, AnswersToWhatHasNotBeenSent) {
  for (const Kind kind : {Kind::OK_TO_SEND, Kind::RNDV_DONE, Kind::SYNC_ACK, Kind::ANTI_SEND_OK}) {
    methods::InprocRules rules;
    rules.link_frames = 1;
    open(rules, [](Config& c) { c.eager_max = 100; });
    Bytes shorter(100, kSent), data(kLong, kSent);
    Request* first = isend(shorter);  // fills the link
    Request* r = isend(data, SendMode::synchronous);
    ASSERT_EQ(r->step, Step::queued);
    Packet p = packet(kind);
    p.sync_ack.sender = r->self.wire();  // where each of them has the handle
    if (kind == Kind::OK_TO_SEND) p.ok_to_send.size = 10;
    w().send(p);
    expect_dropped("RMQ_PKT_", "");
    expect_failed(r);
    EXPECT_TRUE(first->complete());
  }
}

TEST_F(Hostile, AnswersToAnotherKindOfMessage) {
  for (const Kind kind : {Kind::OK_TO_SEND, Kind::RNDV_DONE, Kind::SYNC_ACK}) {
    open({}, [](Config& c) { c.eager_max = 100; });
    const bool is_long = kind != Kind::OK_TO_SEND;
    Bytes data(is_long ? kLong : 100, kSent);
    Request* r = isend(data, SendMode::synchronous);
    w().settle();
    ASSERT_EQ(r->packet.kind, is_long ? Kind::REQUEST_SEND : Kind::SHORT_SYNC);
    Packet p = packet(kind);
    p.sync_ack.sender = r->self.wire();
    w().send(p);
    expect_dropped("RMQ_PKT_", "");
    expect_failed(r);
  }
}

TEST_F(Hostile, TwoAnswersToOneMessage) {
  methods::InprocRules rules;
  rules.fragment_max = 64;
  rules.link_frames = 2;
  for (const std::uint64_t size : {kLong, kLong + 1}) {
    open(rules);
    Bytes data(kLong, kSent);
    Request* r = isend(data);
    w().settle();
    const std::uint64_t handle = w().last(Kind::REQUEST_SEND).request_send.sender;
    if (size == kLong) w().send(ok_to_send(handle, kLong));
    w().send(ok_to_send(handle, size));
    w().settle();
    expect_dropped("OK_TO_SEND", size > kLong ? "more than the message has" : "of this handle");
    expect_failed(r);
  }
}

TEST_F(Hostile, TakingBackAMessageThatItIsReading) {
  methods::InprocRules rules;
  rules.fragment_max = 64;
  rules.link_frames = 2;
  open(rules);
  Bytes data(kLong, kSent);
  Request* r = isend(data);
  w().settle();
  victim().MPID_Cancel(r);
  w().send(ok_to_send(w().last(Kind::REQUEST_SEND).request_send.sender, kLong));
  w().send(anti_send_ok(r->self.wire(), 1));
  expect_dropped("ANTI_SEND_OK", "has been matched");
  expect_failed(r);
}

TEST_F(Hostile, TwoAnswersToOneCancel) {
  methods::InprocRules rules;
  rules.fragment_max = 64;
  rules.link_frames = 2;
  open(rules);
  Bytes data(kLong, kSent);
  Request* r = isend(data);
  w().settle();
  victim().MPID_Cancel(r);
  w().send(ok_to_send(w().last(Kind::REQUEST_SEND).request_send.sender, kLong));
  w().send(anti_send_ok(r->self.wire(), 0));
  w().send(anti_send_ok(r->self.wire(), 0));
  expect_dropped("ANTI_SEND_OK", "no send is being cancelled");
  expect_failed(r);
}

TEST_F(Hostile, OneRankCannotAnswerForAnother) {
  open();
  Bytes data(kLong, kSent), into(kLong, kUntouched), later(kLong, kUntouched);
  Request* send = HostileWorld::isend(victim(), HostileWorld::kBystander, 0, data);
  Request* recv = HostileWorld::irecv(victim(), HostileWorld::kBystander, 0, into);
  w().settle();
  w().send(ok_to_send(send->self.wire(), kLong));
  w().send(rndv_data(recv->self.wire(), 0), Bytes(8, kSent));
  w().settle();
  EXPECT_FALSE(send->complete() || recv->complete());
  Request* taken = HostileWorld::irecv(w().bystander(), HostileWorld::kVictim, 0, later);
  w().settle();
  EXPECT_TRUE(send->complete() && taken->complete());
  EXPECT_EQ(later, data);
  EXPECT_EQ(into, Bytes(kLong, kUntouched));
}

}  // namespace
}  // namespace rmq::testing

// SPDX-License-Identifier: BSD-3-Clause
// Windows open at a rank whose peer sends whatever the script says: operations, answers, locks, pieces of datatypes. No
// memory but the window's is touched (the sanitizers watch), work and memory for a packet are bounded.
#include <algorithm>
#include <memory>
#include <utility>

#include "fuzz/fuzz.hpp"
#include "fuzz/packet_script.hpp"
#include "rma/fibers.hpp"

namespace rmq::fuzz {
namespace {

using rma::Window;
using rma::WindowOptions;
using testing::Fibers;
using Bytes = std::vector<std::byte>;

constexpr std::uint32_t kId = 3;  // of the window
constexpr std::size_t kWindow = 1024, kPayload = 512;
constexpr std::size_t kMostActs = 64, kOperations = 8, kStrided = 4;
constexpr int kQuiet = 16, kMostTurns = 2000;  // after the last act
enum Act : std::uint8_t { kPacket, kType, kOwn, kPoll, kActs };

LayoutRef read_layout(Reader& in) {
  constexpr Basic kBasic[] = {Basic::i64, Basic::i32, Basic::i16, Basic::byte};
  constexpr std::size_t kBytes[] = {8, 4, 2, 1};
  const std::size_t which = in.pick(std::size(kBasic));
  const LayoutRef word = Layout::basic(kBasic[which], kBytes[which]);
  const std::uint64_t count = 1 + in.pick(8), block = 1 + in.pick(3);
  const auto stride = static_cast<std::int64_t>(in.u8()) - 64;
  return in.pick(2) ? Layout::hvector(count, block, stride, *word) : word;
}

class Play {
 public:
  explicit Play(Reader& in) : in_(in) {}

  void run() {
    methods::InprocRules rules = methods::InprocRules::drawn(in_.u8());
    rules.shared_memory = false;
    rules.latency_ns = std::min<std::uint64_t>(rules.latency_ns, 3000);  // each poll takes 100
    rules.fragment_max = std::max<std::size_t>(rules.fragment_max, kPayload);
    Fibers f(2, rules);
    std::unique_ptr<Window> windows[2];
    bool over = false;
    const bool ended = f.run([&](int me) {
      WindowOptions o;
      o.id = kId;
      o.flavor = rma::Flavor::create;
      o.base = memory_[me].data();
      o.size = kWindow;
      windows[me] = f.window(me, o);
      if (me == 1) {
        attack(f);
        over = true;
        return;
      }
      static_cast<void>(windows[0]->lock_all(rma::assertion::nocheck));
      while (!over) {
        for (const std::size_t what : std::exchange(wanted_, {})) operate(*windows[0], what);
        f.device(0).MPID_Poll(false);
      }
    });
    require(ended, "the rank does not hang");
  }

 private:
  void attack(Fibers& f) {
    for (std::size_t i = 0; i < kMostActs && !in_.done(); ++i) {
      switch (static_cast<Act>(in_.pick(kActs))) {
        case kPacket: {
          Packet p = read_packet(in_, known());
          Bytes payload(in_.u16() % (kPayload + 1), std::byte{0x77});
          send(f, p, payload);
          break;
        }
        case kType: {
          const std::uint32_t id = 1 + in_.u8() % 4;
          const std::vector<std::byte> bytes = read_layout(in_)->serialise();
          Packet p(Kind::DATATYPE_DEFN);
          p.context = kId;
          p.source = 1;
          p.datatype_defn = {id, static_cast<std::uint32_t>(bytes.size()), 0};
          send(f, p, bytes);
          break;
        }
        case kOwn:
          wanted_.push_back(in_.pick(kOperations));
          break;
        default:
          for (std::size_t n = in_.pick(16); n > 0; --n) f.device(1).MPID_Poll(false);
      }
    }
    std::uint64_t events = 0;
    for (int turns = 0, quiet = 0; quiet < kQuiet && turns < kMostTurns; ++turns) {
      f.device(1).MPID_Poll(false);
      quiet = f.world().under_way() == 0 && f.world().events() == events ? quiet + 1 : 0;
      events = f.world().events();
    }
  }

  void send(Fibers& f, Packet p, const Bytes& payload) {
    if (payload.size() > kPayload || static_cast<unsigned>(p.kind) < 64) return;
    f.device(1).send_packet(0, p, Payload{DataView::contiguous(payload.data(), payload.size()), 0, payload.size()},
                            nullptr);
  }

  /// Something of the rank's own, whose answers the peer may forge.
  void operate(Window& w, std::size_t what) {
    std::int64_t* const result = &results_[which_++ % (results_.size() - kStrided)];
    const rma::Target one{1, 0, word_.get(), 1}, some{1, 64, strided_.get(), 1};
    const DataView word = DataView::contiguous(result, sizeof *result);
    const DataView strided = DataView::contiguous(result, kStrided * sizeof *result);
    const DataView mine = DataView::contiguous(operands_.data(), sizeof *result);
    switch (what) {
      case 0:
        return static_cast<void>(w.get(word, one));
      case 1:
        return static_cast<void>(w.get(strided, some));
      case 2:
        return static_cast<void>(w.put(mine, one));
      case 3:
        return static_cast<void>(w.put(DataView::contiguous(operands_.data(), kStrided * sizeof *result), some));
      case 4:
        return static_cast<void>(w.accumulate(mine, one, ReduceOp::sum));
      case 5:
        return static_cast<void>(w.get_accumulate(mine, word, one, ReduceOp::sum));
      case 6:
        return static_cast<void>(w.fetch_and_op(operands_.data(), result, one, ReduceOp::max));
      default:
        return static_cast<void>(w.compare_and_swap(operands_.data(), operands_.data() + 1, result, one));
    }
  }

  static Known known() {
    Known words = {0, 1, 2, 8, 16, kWindow - 8, kWindow, kId, kPayload};
    for (std::uint64_t slot = 0; slot < 4; ++slot) {
      for (std::uint64_t generation = 0; generation < 3; ++generation) words.push_back((slot + 1) << 8 | generation);
    }
    // As accumulates have it: operation, element and its size.
    for (std::uint64_t op = 0; op < 15; ++op) words.push_back(8 << 16 | static_cast<unsigned>(Basic::i64) << 8 | op);
    return words;
  }

  Reader& in_;
  Bytes memory_[2] = {Bytes(kWindow), Bytes(kWindow)};
  std::vector<std::int64_t> results_ = std::vector<std::int64_t>(16);
  std::vector<std::int64_t> operands_ = std::vector<std::int64_t>(kStrided, 7);
  LayoutRef word_ = Layout::basic(Basic::i64, 8), strided_ = Layout::hvector(kStrided, 1, 16, *word_);
  std::size_t which_ = 0;
  std::vector<std::size_t> wanted_;  // operations of the rank's own
};

}  // namespace

std::vector<Script> seeds() {
  std::vector<Script> all;
  for (std::size_t place = 0; place < packet_kinds().size(); ++place) {
    if (static_cast<unsigned>(packet_kinds()[place].kind) < 64) continue;
    for (const std::size_t first_known : {0, 1, 9}) {
      for (const std::size_t flags : {0, 2, 12}) {
        Writer w;
        w.u8(1);
        w.u8(kType).u8(0).u8(0).u8(3).u8(0).u8(80).u8(1);
        for (std::size_t what = 0; what < kOperations; ++what) w.u8(kOwn).u8(what);
        w.u8(kPoll).u8(15);
        w.u8(kPacket).u8(place).u8(flags);
        write_small(w, kId);
        w.u8(static_cast<std::size_t>(Word::known)).u8(21 + 1);
        write_small(w, 1);
        w.u8(0);
        write_small(w, 0);
        for (std::size_t i = 0; i < packet_kinds()[place].fields.size(); ++i) {
          w.u8(static_cast<std::size_t>(Word::known)).u8(first_known + i);
        }
        w.u16(8).u8(kPoll).u8(15);
        all.push_back(w.script);
      }
    }
  }
  return all;
}

}  // namespace rmq::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  rmq::fuzz::Reader in(data, bytes);
  rmq::fuzz::Play(in).run();
  return 0;
}

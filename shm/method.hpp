// SPDX-License-Identifier: BSD-3-Clause
// The shared-memory method: packets through a lock-free ring for each directed pair, long data by single copies.
// Structures and memory orders: design/shm.md. One thread at a time (the device's lock).
//
// send() and poll() are short and stand here, so that the device's direct calls inline; whatever is rare is out of line
// in method.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/os/fence.hpp"
#include "base/os/pace.hpp"
#include "methods/method.hpp"
#include "shm/directory.hpp"
#include "shm/heap.hpp"
#include "shm/link.hpp"
#include "shm/peer_watch.hpp"
#include "shm/pull_choice.hpp"
#include "shm/transfer.hpp"

namespace rmq::shm {

class ShmMethod final : public methods::Method {
 public:
  /// `directory` is nullptr when this rank is alone on its host; then no rank is reached.
  ShmMethod(const methods::MethodContext& context, std::unique_ptr<const std::uint64_t> probe,
            std::unique_ptr<const Directory> directory);
  ~ShmMethod() override;

  methods::MethodId id() const override { return methods::MethodId::shm; }
  bool reaches(Rank rank) const override { return host_rank_of(rank) != kElsewhere; }
  int reached() const override { return job_.host_size - 1; }
  bool shares_memory() const override { return true; }
  std::size_t eager_max(Rank) const override { return eager_max_; }
  std::size_t fragment_max(Rank) const override { return fragment_max_; }

  /// Always copies: done, retry or failed.
  methods::Outcome send(Rank to, const Packet& packet, const Payload& payload, Request*) override {
    Outbound* out = outbound_[static_cast<std::size_t>(to)];
    if (out->cells.full()) [[unlikely]]
      return send_slowly(to, packet, payload);
    if (!out->write(packet, payload)) [[unlikely]] {
      const methods::Outcome written = write_after_refresh(to, packet, payload);
      if (written != methods::Outcome::done) return written;
    }
    ring_if_asleep(*out->sleeping, to);
    return methods::Outcome::done;
  }

  /// send() of a packet that is nothing but a header, and contiguous payload, if there is room for it at once; else
  /// nothing has happened.
  [[gnu::always_inline]] bool send_at_once(Rank to, const Packet& packet, const std::byte* payload) {
    Outbound& out = *outbound_[static_cast<std::size_t>(to)];
    if (out.cells.full() || !out.write_header(packet, payload)) [[unlikely]]
      return false;
    ring_if_asleep(*out.sleeping, to);
    return true;
  }

  int poll() override {
    int events = 0;
    const std::size_t hot = inbound_.size() < kHot ? inbound_.size() : kHot;
    for (std::size_t i = 0; i < hot; ++i) {
      if (inbound_[i]->cells.ready()) events += drain(i);
    }
    if (inbound_.size() > kHot) [[unlikely]]
      events += sweep();
    if (busy_ || called()) [[unlikely]]
      events += attend();
    if (events != 0) {
      idle_polls_ = 0;
    } else {
      os::pace(pace_);
      if (++idle_polls_ >= kIdlePolls) [[unlikely]]
        look_after_peers();
    }
    return events;
  }

  bool arm() override;
  void disarm() override;

  std::uint64_t expose(Rank peer, const DataView& view) override;
  std::uint64_t reach(Rank peer, std::uint64_t at) override;
  bool copies_fast(std::uint64_t address) const override;
  methods::Pull how_to_pull(Rank from, std::uint64_t address, std::uint64_t bytes, bool timed) override;
  void pulled(Rank from, methods::Pull how, std::uint64_t bytes, std::uint64_t since) override;
  std::atomic<std::uint32_t>* attention() override { return directory_ ? &control_->attention : nullptr; }
  methods::Outcome get(Rank from, std::uint64_t address, const DataView& into, std::uint64_t bytes,
                       Request* owner) override;
  methods::Outcome put(Rank to, std::uint64_t address, const DataView& data, std::uint64_t bytes,
                       Request* owner) override;

  void* mem_alloc(std::size_t bytes) override { return heap_.allocate(bytes); }
  bool mem_free(void* memory) override { return heap_.free(memory); }
  std::uint64_t mem_token(const void* memory, std::uint64_t bytes) const override;
  std::byte* mem_map(Rank owner, std::uint64_t token, std::uint64_t bytes) const override;
  bool gone(Rank rank) const override;
  bool wake(Rank rank) override {
    const std::uint32_t peer = host_rank_of(rank);
    if (peer == kElsewhere) return false;
    ring_if_asleep(directory_->control(peer).sleeping, rank);
    return true;
  }

  /// Rings from this rank to others.
  std::size_t rings() const;

  void drop(Rank rank, const Error& why) override;
  void ended(Rank rank, const Error& why) override;
  bool drained() const override { return transfers_ == nullptr || transfers_->empty(); }
  void close() override;

 private:
  static constexpr std::uint32_t kElsewhere = UINT32_MAX;
  static constexpr std::size_t kHot = 4;  // rings looked at in every poll; the others take turns
  static constexpr int kBatch = 64;       // packets taken from one ring before the next is looked at
  static constexpr std::uint32_t kIdlePolls = 4096;

  enum class Access : std::uint8_t { unknown, yes, no };

  struct Peer {
    Rank rank = kNoRank;
    bool lost = false;
    bool met = false;  // something has come from it, or gone to it
    Access single_copy = Access::unknown;
    std::uint8_t mails = 0;                  // packets for its inbox in this season
    std::uint32_t season = 0;                // the latest in which there were any
    std::optional<Ring> claimed;             // for packets to it
    bool has_memory = false;                 // that ring
    std::uint64_t no_ring_until_ns = 0;      // the system has refused the memory: not asked again before
    std::optional<std::uint64_t> mail_ends;  // it has ended: before this position of my inbox are its last packets
    std::unique_ptr<Outbound> out;
    std::unique_ptr<Inbound> in;        // read once it stands among the `inbound_`
    std::unique_ptr<PullChoice> pulls;  // of long data from it
  };

  struct Loss {
    std::uint32_t peer;
    Error error;
  };

  std::uint32_t host_rank_of(Rank rank) const {
    return static_cast<std::size_t>(rank) < host_rank_of_.size() ? host_rank_of_[static_cast<std::size_t>(rank)]
                                                                 : kElsewhere;
  }
  Peer& peer_of(Rank rank) { return peers_[host_rank_of_[static_cast<std::size_t>(rank)]]; }

  /// Others have put something into the inbox, want help with a copy, or have a ring to this rank.
  bool called() const {
    // Relaxed: a look only; taking them acquires.
    return (control_->mail.load(std::memory_order_relaxed) | control_->helpers.load(std::memory_order_relaxed) |
            control_->rings.load(std::memory_order_relaxed)) != 0;
  }

  /// After publishing what `rank` may sleep for: rings if it has announced that it sleeps; its half is arm(). Whoever
  /// is first to see the announcement takes it away, so that one sleep is rung once.
  [[gnu::always_inline]] void ring_if_asleep(Atomic<std::uint32_t>& sleeping, Rank rank) {
    os::light_fence(asymmetric_);
    if (sleeping.load(std::memory_order_relaxed) == 0) [[likely]]  // relaxed: the fence orders
      return;
    if (sleeping.exchange(0, std::memory_order_relaxed) != 0) doorbell_.ring(rank);
  }

  /// Delivers what the i-th ring holds, at most kBatch packets. The ring moves to the front.
  int drain(std::size_t i);
  /// Moves the i-th ring to the front. One from beyond the hot ones takes the place of the hot ring that has been idle
  /// for longest.
  void warm_up(std::size_t i) {
    Inbound* const busy = inbound_[i];
    std::size_t hole = i;
    if (i >= kHot) {
      hole = kHot - 1;
      inbound_[i] = inbound_[hole];
    }
    for (; hole > 0; --hole) inbound_[hole] = inbound_[hole - 1];
    inbound_[0] = busy;
  }
  int sweep();
  int attend();
  void update_busy();
  bool has_duties() const {
    return mail_left_ || !transfers_->empty() || transfers_->helping() || !losses_.empty() || !ended_.empty();
  }
  bool has_work();

  methods::Outcome send_slowly(Rank to, const Packet& packet, const Payload& payload);
  methods::Outcome write_after_refresh(Rank to, const Packet& packet, const Payload& payload);
  Result<void> take_ring(Peer& peer, std::uint32_t host_rank);
  void connect(Peer& peer, std::uint32_t host_rank);
  methods::Outcome starve(std::uint32_t host_rank);

  /// Whether a packet to a peer without ring should go to its inbox.
  bool goes_by_mail(Peer& peer, const Packet& packet);
  /// Puts a packet, whose payload fits its line, into the inbox of that rank: done, failed, or retry when it is full.
  methods::Outcome mail(std::uint32_t host_rank, const Packet& packet, const Payload& payload);
  void tell_of_end();
  /// The rings that have been announced; begin_rings() reads those whose pairs' packets have been taken from the inbox.
  void take_rings();
  void begin_rings();
  /// What has come into the inbox.
  int take_mail();
  void take(Packet& packet);
  void return_mail();
  /// The peer is one that this rank talks to.
  void meet(std::uint32_t host_rank);

  bool may_single_copy(std::uint32_t host_rank);
  methods::Outcome transfer(Transfer transfer, Rank rank);

  /// This rank cannot send to that one, and it is not the other's doing: it is lost to this one.
  void cannot_reach(std::uint32_t host_rank, const Error& why);
  /// Notes the loss; poll() reports it, for upcalls come only from there.
  void lose(std::uint32_t host_rank, Errc code, const std::string& why);
  void lose_all();
  void lose_given_up(std::uint32_t host_rank);
  int report_losses();
  int lose_ended();
  /// Whether all has been taken that a process sent which has ended.
  bool is_exhausted(std::uint32_t host_rank);
  void look_after_peers();
  void look_after_inbox();
  void watch_met();

  const methods::Sink& sink_;
  RankControl* control_ = nullptr;
  std::vector<Outbound*> outbound_;  // by world rank; &nowhere_ where there is none
  std::vector<Inbound*> inbound_;    // the first kHot: the latest first
  bool asymmetric_ = false;
  bool busy_ = false;       // mail, transfers, losses or helping under way
  bool mail_left_ = false;  // there may be some in the inbox that `mail` does not tell of
  std::uint32_t idle_polls_ = 0;
  std::uint64_t pace_ = 1;
  std::size_t turn_ = kHot;  // next ring of sweep()

  const Config& config_;
  Trace& trace_;
  Doorbell& doorbell_;
  const JobInfo& job_;
  std::unique_ptr<const std::uint64_t> probe_;
  std::unique_ptr<const Directory> directory_;
  std::unique_ptr<Transfers> transfers_;
  std::unique_ptr<PeerWatch> watch_;
  Heap heap_;
  InboxReader inbox_;
  std::uint32_t mailed_ = 0;                 // packets to inboxes
  std::uint32_t blocked_ = 0;                // polls in a row that found a cell half filled
  std::vector<Ring> announced_;              // rings to this rank that begin behind what is still in the inbox
  std::vector<std::uint32_t> untold_;        // host ranks that are lost, without a ring to tell them by
  std::vector<std::uint32_t> host_rank_of_;  // by world rank; kElsewhere for me and for other hosts
  std::vector<Peer> peers_;                  // by host rank
  PullPeriods pull_periods_;
  std::vector<Loss> losses_;
  std::vector<Loss> ended_;               // processes that have ended, whose last packets are still to be taken
  std::vector<std::uint32_t> starved_;    // host ranks that refused a send for want of room; arm() looks at their rings
  std::vector<std::uint32_t> unwatched_;  // host ranks met since the peers' processes were last looked after
  Outbound nowhere_;
  RankControl nobody_{};  // control_ of a rank that is alone
  std::size_t eager_max_ = 0;
  std::size_t fragment_max_ = 0;
  std::uint64_t last_look_ns_ = 0;
  bool look_soon_ = false;
};

/// Makes the method for this rank; the first rank of the host makes the segment, the others wait for it.
Result<std::unique_ptr<methods::Method>> make_shm(const methods::MethodContext& context);

inline int ShmMethod::drain(std::size_t i) {
  Inbound& in = *inbound_[i];
  int taken = 0;
  Packet packet;  // read() writes all of it
  do {
    const std::byte* payload;
    if (!in.read(packet, payload)) [[unlikely]] {
      lose(in.host_rank, Errc::protocol, "sent a packet whose length or mark is impossible");
      return taken;
    }
    // In the middle of a batch the next cells have been written already: fetching them ahead takes no line from a
    // writer that is still at it.
    if (taken != 0) in.cells.prefetch();
    sink_.on_packet[static_cast<std::uint8_t>(packet.kind)](sink_.device, in.rank, packet, payload);
    in.cells.advance();
    if (in.return_is_due()) [[unlikely]] {
      in.give_back();
      ring_if_asleep(*in.sleeping, in.rank);  // until there is room
    }
  } while (++taken < kBatch && in.cells.ready());
  if (i != 0) warm_up(i);
  return taken;
}

/// As adi/dispatch.hpp calls it.
using Method = ShmMethod;

}  // namespace rmq::shm

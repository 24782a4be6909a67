// SPDX-License-Identifier: BSD-3-Clause
// A method of a party: one of the concrete methods, made for the members of the party alone, as the device uses it.
// The inner method counts the members; the device, and all above it, have numbers of their own for them. So this
// translates ranks, both ways, and nothing else.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/os/doorbell.hpp"
#include "base/record/trace.hpp"
#include "methods/method.hpp"
#include "start/line.hpp"
#include "start/party.hpp"

namespace rmq::adi {

/// Which number this process has for each member of a party, and which of them it has met there.
struct PartyNumbers {
  std::vector<Rank> number;       // by member
  std::map<Rank, int> member;     // by number
  std::map<Rank, bool> met_here;  // those whom this process reaches by no other method

  Rank of(Rank inner) const { return number[static_cast<std::size_t>(inner)]; }
  /// kNoRank: no member.
  Rank inner(Rank outer) const {
    const auto found = member.find(outer);
    return found == member.end() ? kNoRank : found->second;
  }
};

/// What the roots of the two sides keep between them: it ends when the other one dies, and so tells of the end of its
/// side's jobs, whoever of them has died. Other members have none, but know who has it.
class Lifeline {
 public:
  Lifeline() = default;
  /// `beyond`: jobs of the other side that are none of this one's.
  void tie(std::unique_ptr<Line> line, std::vector<std::uint64_t> beyond) {
    line_ = std::move(line);
    beyond_ = std::move(beyond);
  }
  /// Who has the line on this side.
  void set_root(Rank root, std::vector<std::uint64_t> beyond) {
    root_ = root;
    beyond_ = std::move(beyond);
  }
  Rank root() const { return root_; }
  int fd() const { return line_ ? line_->fd() : -1; }
  const std::vector<std::uint64_t>& beyond() const { return beyond_; }
  bool is_beyond(std::uint64_t job) const { return std::ranges::find(beyond_, job) != beyond_.end(); }
  /// How far this process is with parting: an end is that of the job, but for its last message; or none at all.
  enum class Parting : std::uint8_t { no, asked, agreed };
  void set_parting(Parting p) { parting_ = p; }
  Parting parting() const { return parting_; }
  /// The end that follows is none by death.
  void say_goodbye();
  /// This rank of a job, or (-1) all of some, have died, as this side knows: the other side may have no link to them.
  /// What is beyond the line needs not be told that.
  void say_death(std::span<const std::uint64_t> jobs, int rank);
  void cut() { line_.reset(); }
  /// What has come, a system call: the other end is gone without having said good-bye, once; or it says that a rank of
  /// a job, or all of some, have died.
  struct News {
    bool broken = false;
    std::vector<std::uint64_t> dead_of;  // jobs
    int rank = -1;
  };
  News look();
  /// Whether something has come that look() has not taken; a system call.
  bool has_come() const;

 private:
  std::unique_ptr<Line> line_;
  std::vector<std::uint64_t> beyond_;
  Rank root_ = kNoRank;
  Parting parting_ = Parting::no;
};

class Relay final : public methods::Method {
 public:
  /// What the party shares among its relays; outlives them.
  struct Shared {
    const PartyFacts& facts;
    const PartyNumbers& numbers;
    const methods::Sink& up;  // of the device
    Doorbell& bell;           // that the members ring
    Lifeline& lifeline;
    /// The jobs of the other side have ended badly (rank -1), or with `deaths_are_told` at least its root has, and no
    /// member is lost by that alone; or this rank of a job, or all of some, as the other side says. nullptr: nobody
    /// wants to know. It may end the process.
    void (*parted)(std::span<const std::uint64_t> jobs, int rank, bool line_has_ended);
    bool deaths_are_told;
  };

  explicit Relay(Shared shared);
  /// What the inner method is to be made with.
  const methods::Sink& sink() const { return sink_; }
  void set_inner(std::unique_ptr<methods::Method> inner) { inner_ = std::move(inner); }
  methods::Method& inner() { return *inner_; }

  methods::MethodId id() const override { return methods::MethodId::party; }
  bool reaches(Rank rank) const override;
  int reached() const override { return static_cast<int>(shared_.numbers.met_here.size()); }
  std::size_t eager_max(Rank to) const override { return inner_->eager_max(in(to)); }
  std::size_t fragment_max(Rank to) const override { return inner_->fragment_max(in(to)); }
  methods::Outcome send(Rank to, const Packet& packet, const Payload& payload, Request* owner) override {
    return inner_->send(in(to), packet, payload, owner);
  }
  bool tells_of_room() const override { return inner_->tells_of_room(); }
  void gather(Rank to, bool on) override { inner_->gather(in(to), on); }
  int poll() override {
    const int happened = inner_->poll();
    return ++polls_ % kPollsToLook == 0 ? happened + look_after() : happened;
  }
  bool arm() override {
    if (!shared_.lifeline.has_come()) return inner_->arm();
    polls_ = kPollsToLook - 1;  // the next poll tells of it
    return false;
  }
  void disarm() override;
  std::uint64_t expose(Rank peer, const DataView& view) override { return inner_->expose(in(peer), view); }
  std::uint64_t reach(Rank peer, std::uint64_t at) override { return inner_->reach(in(peer), at); }
  bool shares_memory() const override { return inner_->shares_memory(); }
  bool copies_fast(std::uint64_t address) const override { return inner_->copies_fast(address); }
  methods::Pull how_to_pull(Rank from, std::uint64_t address, std::uint64_t bytes, bool timed) override {
    return inner_->how_to_pull(in(from), address, bytes, timed);
  }
  void pulled(Rank from, methods::Pull how, std::uint64_t bytes, std::uint64_t since) override {
    inner_->pulled(in(from), how, bytes, since);
  }
  methods::Outcome get(Rank from, std::uint64_t address, const DataView& into, std::uint64_t bytes,
                       Request* owner) override {
    return inner_->get(in(from), address, into, bytes, owner);
  }
  methods::Outcome put(Rank to, std::uint64_t address, const DataView& data, std::uint64_t bytes,
                       Request* owner) override {
    return inner_->put(in(to), address, data, bytes, owner);
  }

  /// Memory that all members on this host reach: share(). What programs ask for without saying for whom comes from the
  /// job's own method.
  void* mem_alloc(std::size_t) override { return nullptr; }
  void* share(std::size_t bytes) { return inner_->mem_alloc(bytes); }
  bool mem_free(void* memory) override { return inner_->mem_free(memory); }
  /// Names the party beside the place, since an owner may have memory in several.
  std::uint64_t mem_token(const void* memory, std::uint64_t bytes) const override;
  std::byte* mem_map(Rank owner, std::uint64_t token, std::uint64_t bytes) const override;
  /// 0: a token of the job's own method.
  static std::uint64_t party_of(std::uint64_t token) { return token >> kTagAt & kTagMask; }
  std::uint64_t tag() const { return tag_of(shared_.facts.id); }
  static std::uint64_t tag_of(std::uint64_t party) { return party & kTagMask; }
  /// Whether the member is one of the party.
  bool knows(Rank rank) const { return shared_.numbers.inner(rank) != kNoRank; }

  /// A method that does not know who sleeps has the member's bell of this party rung: a process of another job has no
  /// other that is known here.
  bool wake(Rank rank) override {
    if (!inner_->wake(in(rank))) shared_.bell.ring(in(rank));
    return true;
  }
  void ended(Rank rank, const Error& why) override { inner_->ended(in(rank), why); }
  bool gone(Rank rank) const override { return inner_->gone(in(rank)); }
  void drop(Rank rank, const Error& why) override { inner_->drop(in(rank), why); }
  bool drained() const override { return inner_->drained(); }
  void close() override { inner_->close(); }

 private:
  static constexpr std::uint32_t kPollsToLook = 1024;
  static constexpr unsigned kTagAt = 48;
  static constexpr std::uint64_t kTagMask = 0x7fff;

  Rank in(Rank outer) const { return shared_.numbers.inner(outer); }
  Rank out(Rank inner) const { return shared_.numbers.of(inner); }
  static void on_packet(void* relay, Rank from, const Packet& packet, const std::byte* payload);
  static methods::Landing on_arriving(void* relay, Rank from, const Packet& packet);
  static void on_landed(void* relay, Rank from, const Packet& packet, const methods::Landing& landing, Errc error);
  static void on_room(void* relay, Rank rank);
  static void on_sent(void* relay, Request* owner, Errc error);
  static void on_moved(void* relay, Request* owner, std::uint64_t bytes, Errc error);
  static void on_peer_lost(void* relay, Rank rank, const Error& error);

  int look_after();

  const Shared shared_;
  std::uint32_t polls_ = 0;
  methods::Sink sink_;
  std::unique_ptr<methods::Method> inner_;
};

}  // namespace rmq::adi

// SPDX-License-Identifier: BSD-3-Clause
// What a peer may send, and the messages that are kept until a receive takes them.
//
// The handshake has proved that a peer belongs to the job, not that its memory is sound or that it runs the same code:
// so each packet is held against what this rank knows (base/packet/protocol.def says what may follow what), and a peer
// that sends one which no rank of ours could send is dropped. Requests that wait for it end with peer_lost, and the
// error handlers decide whether the job does.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_set>

#include "adi/completion.hpp"

namespace rmq::adi {

class Arrivals : public Completion {
 public:
  /// A peer sent what no rank of ours could send, to this device or a floor above: it is dropped, and counts as lost,
  /// with an error that says `why`.
  void protocol_error(Rank from, const Packet& p, const char* why);
  /// A peer sent what there may have been a use for once: counted and traced.
  void stray_packet(Rank from, const Packet& p);
  /// These contexts, revoked or not, are going to be used anew: forgets what has come in them. False: a message is
  /// there whose sender waits, and they must not be.
  bool forget_contexts(std::span<const std::uint32_t> contexts);

 protected:
  Arrivals(DeviceOptions& options, Bootstrap& bootstrap);

  /// Counts and records a packet that has come, and takes the credit that it brings; the channel of its sender.
  [[gnu::always_inline]] Channel& received(Rank from, const Packet& p) {
    Channel& c = channels_[from];
    ++counters_.received;
    trace_.packet(Event::packet_received, c.method_number(), from, p, p.length);
    if (!channels_.take_credit(c, p)) [[unlikely]]
      protocol_error(from, p, "it returns more credit than was spent");
    return c;
  }
  /// received() of a packet that is nothing but its fields; false: it is not, and its sender is dropped.
  bool take_control(Rank from, const Packet& p);
  /// Whether a message may have such a header; else its sender is dropped.
  bool may_come(const Channel& from, const Packet& p) {
    const bool sound = p.kind == Kind::REQUEST_SEND ? p.length == 0 : (p.flags & packet_flag::envelope) == 0;
    if (sound && is_rank(p.source) && !from.dropped) [[likely]]
      return true;
    refuse(from.rank, p);
    return false;
  }
  /// Whether the sender has credit left for a message that no receive waits for; else it is dropped.
  bool may_be_kept(const Channel& from, const Packet& p, std::uint64_t data_bytes);
  /// The send that has been announced to this rank and not been answered, or nullptr.
  Request* announced(Rank from, std::uint64_t handle) { return in_step(Step::announced, from, handle); }
  /// The receive that has asked this rank for its data, or nullptr.
  Request* awaiting_data(Rank from, std::uint64_t handle) { return in_step(Step::asked, from, handle); }
  Request* in_step(Step step, Rank from, std::uint64_t handle);

  /// Keeps a message for which no receive is posted, with memory for so many bytes of data.
  Request* keep(Channel& from, const Packet& p, const Match& m, std::uint64_t data_bytes, Step step);
  /// A kept message has been taken: its sender gets the credit back.
  void release_kept(Request* message);
  /// Drops a kept message that nobody will receive. False: its sender waits for an answer, and takes it back itself.
  bool forget_kept(Request* message);

  bool is_revoked(std::uint32_t context) const { return !revoked_.empty() && revoked_.contains(context); }
  /// From now on what comes in these contexts is not kept any more.
  void note_revoked(std::span<const std::uint32_t> contexts) { revoked_.insert(contexts.begin(), contexts.end()); }

  static void on_unknown(void* device, Rank from, const Packet& p, const std::byte* payload);

 private:
  static constexpr unsigned kFirstOfFloors = 64;  // number of the first kind of packet that is not the device's
  bool is_rank(std::int32_t r) const {
    return static_cast<std::size_t>(static_cast<std::uint32_t>(r)) < channels_.size();
  }
  void refuse(Rank from, const Packet& p);
  static void on_flow(void* device, Rank from, const Packet& p, const std::byte* payload);

  std::unordered_set<std::uint32_t> revoked_;  // contexts
};

}  // namespace rmq::adi

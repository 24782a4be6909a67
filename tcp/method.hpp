// SPDX-License-Identifier: BSD-3-Clause
// The method tcp: carries packets to every other rank over one TCP connection each, made on first use.
//
// Reading: up to kHot connections that have been active lately are "hot": poll() reads them directly, one system call
// each, and after a few packets they are not even in the ready set any more, because each epoll registration costs the
// sender's kernel path 0.17 us a message. All others are found through the ready set, which poll() asks every time
// while it finds something, else every kLongestInterval polls. arm() puts the hot ones (back) into the set, and the
// device's doorbell watches that set, so a sleeping rank wakes for everything.
//
// Connections break and are made again, and idle ones are closed when others are needed (tcp/relink.cpp); the packets
// of a pair are numbered and kept until they are acknowledged (tcp/journal.hpp), so nobody above notices.
//
// Writing: see tcp/outbox.hpp and tcp/burst.hpp. Opening: tcp/switchboard.hpp. Many methods may live in one process;
// nothing is shared among them.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "methods/method.hpp"
#include "tcp/link.hpp"
#include "tcp/ready_set.hpp"
#include "tcp/switchboard.hpp"

namespace rmq::tcp {

class TcpMethod final : public methods::Method, private LinkKeeper {
 public:
  /// Listens and publishes where, as "tcp.<rank>"; a job of one rank does neither. Errc::config for a variable that
  /// cannot be followed (interface, port), Errc::system when the system refuses.
  static Result<std::unique_ptr<TcpMethod>> open(const methods::MethodContext& context);
  /// Without close() before, connections simply break, as when the process dies.
  ~TcpMethod() override;

  methods::MethodId id() const override { return methods::MethodId::tcp; }
  bool reaches(Rank rank) const override { return rank != self_ && rank >= 0 && rank < size_; }
  int reached() const override { return size_ - 1; }
  std::size_t eager_max(Rank) const override { return eager_max_; }
  std::size_t fragment_max(Rank) const override { return kFragment; }
  methods::Outcome send(Rank to, const Packet& packet, const Payload& payload, Request* owner) override;
  bool tells_of_room() const override { return true; }
  void gather(Rank to, bool on) override;
  int poll() override;
  bool arm() override;
  void drop(Rank rank, const Error& why) override;
  void ended(Rank rank, const Error& why) override;
  void disarm() override { armed_ = false; }
  void ending() override { switchboard_->ending(); }
  bool drained() const override;
  void close() override;

  /// How many connections there are now.
  int connections() const override { return static_cast<int>(connected_.size()); }
  /// How many have been made in place of one that had broken, since the beginning.
  std::uint64_t remade() const { return remade_; }
  /// Bytes that the links have for what is on its way.
  std::size_t memory() const;
  /// How many have been closed because others were needed.
  std::uint64_t paused() const { return paused_; }

 private:
  static constexpr std::size_t kEager = 64 * 1024;
  static constexpr std::size_t kFragment = 8 * 1024 * 1024;
  static constexpr std::size_t kHot = 4;
  static constexpr std::uint32_t kWarm = 16;             // reads until a hot connection leaves the ready set
  static constexpr std::uint32_t kCold = 4096;           // idle reads until a hot connection is hot no more
  static constexpr std::uint32_t kLongestInterval = 32;  // polls between two looks at the ready set
  static constexpr std::uint64_t kIdle = 8;              // polls without use until a connection may be closed
  static constexpr std::uint64_t kQuiet = 1024;          // polls without use until memory is given back
  static constexpr std::uint64_t kToMakeRoom = 4;        // polls from one look for idle connections to the next
  // ns after LINK_PAUSE, from which on what the kernel still has of the link will not soon be taken by the peer.
  static constexpr std::uint64_t kUnderWay = 10 * Switchboard::kPatience;
  static constexpr std::uint64_t kFarewell = 2000000000u;  // ns that close() waits for the peers' good-byes

  explicit TcpMethod(const methods::MethodContext& context);
  Result<void> start(const methods::MethodContext& context);
  Link& link(Rank rank);

  methods::Outcome send_unlinked(Rank to);
  void make_busy(Link& link);
  void tell_of_room(Link& link);
  int advance_busy(bool also_blocked);
  int service(Link& link);
  void drain(Link& link, int error);
  int look();
  void give_back_memory(Link& link);
  bool watch(Link& link, bool writable);
  void unwatch(Link& link);
  void heat(Link& link);
  void cool(Link& link);

  // tcp/relink.cpp
  void disconnect(Link& link);
  void on_end(Link& link, int error);
  void cut(Link& link, std::string why, bool silent);
  bool make_room();
  void start_pause(Link& link);
  void advance_pause(Link& link);
  void unlink(Link& link);
  bool is_overdue(const Link& link, std::uint64_t now) const;
  int close_overdue();
  bool close_alone(Link& link, std::uint64_t now);
  void lose(Link& link, Errc code, std::string_view why);
  void declare_lost(Link& link, const Error& error);
  // tcp/farewell.cpp
  void depart(Link& link);
  void say_goodbye(Link& link);
  void leave(Link& link);

  bool is_settled(Rank rank) const override;
  Past next_call(Rank rank, std::uint32_t later) override;
  std::uint32_t last_connection(Rank rank) const override;
  Verdict answer(Rank rank, std::uint64_t session, std::uint32_t call) const override;
  Past give_up_connection(Rank rank, std::uint32_t call) override;
  void on_interrupted(Rank rank) override;
  void on_connected(Rank rank, Opened opened) override;
  void on_unreachable(Rank rank, const Error& error, const std::string& trouble) override;

  const methods::Sink& sink_;
  Trace& trace_;
  Doorbell& doorbell_;
  const Rank self_;
  const int size_;
  const bool asks_by_socket_;    // the bootstrap answers by a socket, which wakes a sleeper
  const std::uint64_t silence_;  // ns
  std::size_t eager_max_;
  Burst::Scale scale_;
  bool closing_ = false;

  boost::asio::io_context io_;                // never run; must outlive every socket
  std::uint64_t epoch_ = 1;                   // counts polls
  Buffers buffers_{Inbox::kBuffer};           // of all links, but while something is in them
  std::vector<std::unique_ptr<Link>> links_;  // by rank; made when first needed
  std::vector<Link*> busy_;                   // have something to write, to tell or to fail
  std::array<Link*, kHot> hot_{};
  std::size_t hot_count_ = 0;
  std::vector<Link*> connected_;  // have a socket
  std::size_t pausing_ = 0;       // of those, which are about to be closed for others
  int most_ = 128;                // of those
  std::size_t turn_ = 0;          // of the one whose memory is looked at next
  std::uint64_t remade_ = 0, paused_ = 0;
  std::uint32_t interval_ = 1;  // polls from one look at the ready set to the next
  std::uint32_t until_look_ = 1;
  bool armed_ = false;  // somebody of this rank sleeps, or is about to

  std::unique_ptr<ReadySet> ready_;
  std::unique_ptr<Switchboard> switchboard_;
};

/// For the device's table of methods.
Result<std::unique_ptr<methods::Method>> make_tcp(const methods::MethodContext& context);

/// As adi/dispatch.hpp calls it.
using Method = TcpMethod;

}  // namespace rmq::tcp

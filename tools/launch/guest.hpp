// SPDX-License-Identifier: BSD-3-Clause
// A program that nobody has launched and that wants a launcher, as it spawns processes or publishes names: rank 0 of a
// job of one, served over the socket that it has started this launcher with (start/launcher.hpp). Its process is not
// the launcher's.
#pragma once

#include <string>
#include <string_view>

#include "tools/launch/plan.hpp"
#include "tools/launch/server.hpp"

namespace rmq::launch {

class Guest final : private Server::Upcalls {
 public:
  /// What the keeper hears; from the event loop.
  class Upcalls {
   public:
    virtual ~Upcalls() = default;
    virtual bool on_guest_wish(std::string_view what, std::string_view text) = 0;
    /// It has ended; `code` is 0 when it has left MPI properly before.
    virtual void on_guest_end(int code) = 0;
  };

  Guest(EventLoop& loop, JobPlan plan, UniqueFd socket, Upcalls& upcalls)
      : plan_(std::move(plan)), upcalls_(upcalls), server_(loop, 1, *this) {
    server_.add(0, std::move(socket));
  }

  const JobPlan& plan() const { return plan_; }
  Server& server() { return server_; }
  bool is_here() const { return server_.is_connected(0); }

 private:
  void on_join(int, pid_t) override {}
  void on_abort(int, int code, std::string_view, bool) override { code_ = code != 0 ? code : 1; }
  void on_answer(int, std::uint32_t, std::string_view) override {}
  bool on_wish(int, std::string_view what, std::string_view text) override {
    return upcalls_.on_guest_wish(what, text);
  }
  void on_disconnect(int) override { upcalls_.on_guest_end(server_.state(0) == RankState::finalized ? 0 : code_); }
  void on_violation(int, std::string_view) override { upcalls_.on_guest_end(1); }

  const JobPlan plan_;
  Upcalls& upcalls_;
  Server server_;
  int code_ = 1;
};

}  // namespace rmq::launch

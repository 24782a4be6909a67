// SPDX-License-Identifier: BSD-3-Clause
#include "tools/boot/server.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "start/bootstrap_env.hpp"
#include "start/exit.hpp"
#include "start/pmi_wire.hpp"
#include "tools/boot/address.hpp"
#include "tools/boot/gate.hpp"
#include "tools/diag/control.hpp"
#include "tools/diag/inquiry.hpp"
#include "tools/diag/json_text.hpp"
#include "tools/launch/aborts.hpp"
#include "tools/launch/open_files.hpp"
#include "tools/launch/server.hpp"
#include "tools/launch/verdict.hpp"
#include "tools/process/printable.hpp"

namespace rmq::launch {

namespace {

using std::chrono::seconds;

// From the end of a rank's socket to its minder's report.
constexpr std::chrono::milliseconds verdict_grace{250};
// For ranks that hear of the end, and for a launcher that drops what it has not carried yet when it is told to abort.
constexpr std::chrono::milliseconds carry_time{200};

// Who looks after the ranks besides us.
struct Care {
  bool minders = true;
  UniqueFd launcher = {};  // a PMI-1 connection
};

class RemoteJob final : private Server::Upcalls {
 public:
  RemoteJob(EventLoop& loop, UniqueFd listener, int size, std::string tickets, const std::string& job, Care care)
      : loop_(loop),
        minded_(care.minders),
        launcher_(std::move(care.launcher)),
        server_(loop, size, *this),
        minders_(static_cast<std::size_t>(size)),
        aborts_(loop, size, [this](int rank) { return another_is_ending(rank); }),
        inquiry_(
            loop, server_, job, size, [](int) { return ProcessFacts{}; }, [](int) {}),
        control_(Control::open(loop, job,
                               [this](Control::Reply reply) {
                                 inquiry_.ask(
                                     [reply = std::move(reply)](const nlohmann::json& all) { reply(json_text(all)); });
                               })),
        gate_(
            loop, std::move(listener), std::move(tickets),
            [this](boot::FrameKind role, int rank, UniqueFd socket) { admit(role, rank, std::move(socket)); },
            minded_) {
    loop_.watch(STDIN_FILENO, EPOLLIN, [this](std::uint32_t) {
      loop_.forget(STDIN_FILENO);
      if (gate_.missing() > 0) loop_.stop();  // rank 0 died before all had come, and the host's launcher ends the rest
    });
  }
  void publish_hosts(const Hosts& hosts) { server_.publish_hosts(hosts); }
  void run() { loop_.run(); }

 private:
  struct Minder {
    UniqueFd socket;
    boot::FrameReader reader;
    bool may_be_leaving = false;  // its rank: it has been asked and has not denied it
  };

  Minder& minder(int rank) { return minders_[static_cast<std::size_t>(rank)]; }

  void admit(boot::FrameKind role, int rank, UniqueFd socket) {
    if (role == boot::FrameKind::join) return server_.add(rank, std::move(socket));
    ++minders_here_;
    minder(rank).socket = std::move(socket);
    loop_.watch(minder(rank).socket.get(), EPOLLIN, [this, rank](std::uint32_t) { on_minder(rank); });
  }

  void on_minder(int rank) {
    Minder& m = minder(rank);
    auto frame = receive_frame(m.socket.get(), m.reader);
    for (; frame && *frame; frame = m.reader.next()) {
      if ((*frame)->kind == boot::FrameKind::leaving) {
        m.may_be_leaving = !(*frame)->body.empty();
      } else if ((*frame)->kind == boot::FrameKind::died) {
        m.may_be_leaving = false;
        boot::BodyReader body((*frame)->body);
        const int status = static_cast<int>(body.u32());
        return on_rank_exit(rank, status, one_line(body.rest()));
      } else {
        break;
      }
    }
    if (frame && !*frame) return;
    dismiss(rank);
    stop_if_alone();
  }

  // A minder hears of the end of its rank when that one's memory is freed, which may take long; it sees at once that
  // its rank is on its way out.
  void ask_minders() {
    const std::string look = boot::encode(boot::FrameKind::look);
    for (Minder& m : minders_) {
      if (!m.socket.is_open()) continue;
      m.may_be_leaving = ::send(m.socket.get(), look.data(), look.size(), MSG_NOSIGNAL | MSG_DONTWAIT) > 0;
    }
  }

  bool another_is_ending(int rank) const {
    for (int other = 0; other < static_cast<int>(minders_.size()); ++other) {
      const Minder& m = minders_[static_cast<std::size_t>(other)];
      if (other != rank && m.socket.is_open() && m.may_be_leaving && !aborts_.has_aborted(other)) return true;
    }
    return false;
  }

  // Its end tells a minder whose rank has ended that nothing more is to come.
  void dismiss(int rank) {
    if (!minder(rank).socket.is_open()) return;
    loop_.forget(minder(rank).socket.get());
    minder(rank).socket.reset();
    --minders_here_;
  }

  void on_rank_exit(int rank, int status, const std::string& program) {
    server_.drain(rank);
    if (ending_) return;
    if (aborts_.has_aborted(rank)) return;  // its minder hears how the job ends
    const Verdict verdict =
        judge(fmt::format("rank {} ({})", rank, program), server_.state(rank), status, minders_.size() == 1);
    if (verdict.effect == Verdict::Effect::ends_job) return end_job(verdict.code, verdict.message);
    if (!verdict.message.empty()) std::fprintf(stderr, "rmqboot: %s\n", printable(verdict.message).c_str());
    dismiss(rank);
    server_.depart(rank);
    stop_if_alone();
  }

  void end_job(int code, const std::string& message) {
    if (ending_) return;
    ending_ = true;
    std::fprintf(stderr, "%s: %s\n", minded_ ? "rmqboot" : "rmq", printable(message).c_str());
    server_.end(code, message);
    const std::string frame = boot::encode_code(boot::FrameKind::end, code, message);
    for (const Minder& m : minders_)
      if (m.socket.is_open()) ::send(m.socket.get(), frame.data(), frame.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    loop_.after(carry_time, [this, code] { tell_launcher(code); });
    loop_.after(seconds(1), [this] { loop_.stop(); });  // the end of their sockets is the last word to all
  }

  void tell_launcher(int code) {
    if (!launcher_.is_open()) return;
    const std::string line = pmi::abort_line(code);
    ::send(launcher_.get(), line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    launcher_.reset();
  }

  void stop_if_alone() {
    if (gate_.missing() > 0 || server_.connected() > 0 || minders_here_ > 0) return;
    aborts_.conclude();
    loop_.stop();
  }

  void on_join(int, pid_t) override {}

  void on_answer(int rank, std::uint32_t number, std::string_view text) override {
    inquiry_.on_answer(rank, number, text);
  }

  void on_abort(int rank, int code, std::string_view why, bool for_loss) override {
    if (for_loss) ask_minders();
    aborts_.on_abort(rank, for_loss, [this, rank, code, why = one_line(why)] {
      end_job(boot::status_of(code), fmt::format("rank {} aborted the job with code {}: {}", rank, code, why));
    });
  }

  void on_violation(int rank, std::string_view what) override {
    end_job(1, fmt::format("rank {}: {}; all ranks were ended", rank, one_line(what)));
  }

  void on_disconnect(int rank) override {
    if (!minded_ && !ending_ && !aborts_.has_aborted(rank) && server_.state(rank) != RankState::finalized) {
      end_job(1, fmt::format("rank {} ended without calling MPI_Finalize; the other ranks were ended", rank));
    } else if (!ending_ && !aborts_.has_aborted(rank) && server_.state(rank) == RankState::joined) {
      // Its minder usually tells why; nobody does when the whole machine is lost.
      loop_.after(verdict_grace, [this, rank] {
        const bool silent = !ending_ && minder(rank).socket.is_open();
        end_job(1, fmt::format("rank {} ended without calling MPI_Finalize; the other ranks were ended", rank));
        if (silent)
          std::fputs(
              "rmqboot: nobody has told why: if its machine is lost, mpiexec may wait for it for ever; end mpiexec "
              "then\n",
              stderr);
      });
    }
    stop_if_alone();
  }

  EventLoop& loop_;
  const bool minded_;
  UniqueFd launcher_;
  Server server_;
  std::vector<Minder> minders_;  // by rank
  Aborts aborts_;
  Inquiry inquiry_;
  std::unique_ptr<Control> control_;
  int minders_here_ = 0;
  Gate gate_;
  bool ending_ = false;
};

}  // namespace

namespace {

int serve(UniqueFd listener, int size, const std::string& job, Care care) {
  const std::size_t ticket_bytes = static_cast<std::size_t>(size) * boot::ticket_bytes;
  // Two connections a rank, its own and its minder's, come through the gate and stay.
  const std::size_t connections = 2 * static_cast<std::size_t>(size);
  // Who is in has left the gate, so both together are no more than all connections and the strangers.
  const auto raised = raise_open_files(size, 0, Gate::descriptors(connections) + 16);
  if (!raised)
    std::fprintf(stderr, "rmqboot: %s\n", printable(raised.error().what).c_str());  // some ranks will not come in
  auto loop = EventLoop::create();
  if (!loop) return exit_cannot_start;
  std::string tickets;
  while (tickets.size() < ticket_bytes)
    if (!read_some(STDIN_FILENO, tickets, ticket_bytes - tickets.size())) return exit_cannot_start;
  std::string table;
  while (care.minders && !table.ends_with('\n'))  // without them the ranks agree on it
    if (!read_some(STDIN_FILENO, table)) return exit_cannot_start;
  std::optional<Hosts> hosts;
  if (care.minders) {
    table.pop_back();
    auto parsed = boot::parse_hosts(table, size);
    if (!parsed) return exit_cannot_start;
    hosts = std::move(*parsed);
  }
  RemoteJob served(**loop, std::move(listener), size, std::move(tickets), job, std::move(care));
  if (hosts) served.publish_hosts(*hosts);
  served.run();
  return 0;
}

}  // namespace

int serve_remote_ranks(UniqueFd listener, int size, const std::string& job) {
  return serve(std::move(listener), size, job, {});
}

int serve_started_ranks(int size, const std::string& job, bool loopback, UniqueFd launcher) {
  auto listener = listen_for_ranks(loopback);
  if (!listener) {
    std::fprintf(stderr, "rmq: %s\n", printable(listener.error().what).c_str());
    return exit_cannot_start;
  }
  if (!write_all(STDOUT_FILENO, listener->addresses + "\n")) return exit_cannot_start;
  // Held open, our end of the socket would be no leash.
  const UniqueFd nowhere(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  ::dup2(nowhere.get(), STDOUT_FILENO);
  if (::fork() > 0) ::_exit(0);
  return serve(std::move(listener->socket), size, job, {.minders = false, .launcher = std::move(launcher)});
}

}  // namespace rmq::launch

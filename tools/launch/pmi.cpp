// SPDX-License-Identifier: BSD-3-Clause
#include "tools/launch/pmi.hpp"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "tools/launch/verdict.hpp"

namespace rmq::launch {

using boot::FrameKind;

namespace {

constexpr int key_max = 256, value_max = 4096;

// Blocks of ranks as MPICH's libraries read them: (host, hosts alike, ranks on each).
std::string process_mapping(const Hosts& hosts) {
  std::string out = "(vector";
  const auto runs = hosts.runs();
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const int end = i + 1 < runs.size() ? runs[i + 1].first : hosts.size();
    out += fmt::format(",({},1,{})", runs[i].host, end - runs[i].first);
  }
  return out + ")";
}

}  // namespace

class PmiTranslator {
 public:
  PmiTranslator(PmiBoard& board, int rank, int app_num, UniqueFd lines, UniqueFd frames)
      : board_(board), rank_(rank), app_num_(app_num), lines_(std::move(lines)), frames_(std::move(frames)) {
    board_.loop_.watch(lines_.get(), EPOLLIN, [this](std::uint32_t) { receive_lines(); });
    board_.loop_.watch(frames_.get(), EPOLLIN, [this](std::uint32_t) { receive_frames(); });
  }

  ~PmiTranslator() { close(); }
  PmiTranslator(const PmiTranslator&) = delete;
  PmiTranslator& operator=(const PmiTranslator&) = delete;

  // False when there is nothing more.
  bool receive_lines() {
    if (!lines_.is_open()) return false;
    std::array<char, 4096> chunk;
    const ssize_t got = ::recv(lines_.get(), chunk.data(), chunk.size(), MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) return true;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return false;
    if (got <= 0) return close(), false;
    reader_.add({chunk.data(), static_cast<std::size_t>(got)});
    while (lines_.is_open()) {
      const auto line = reader_.next();
      if (!line) return give_up(line.error().what), false;
      if (!*line) break;
      on_line(**line);
    }
    return true;
  }

 private:
  // The end of the rank's connection is the end of the one to the Server, and the other way round.
  void close() {
    for (UniqueFd* fd : {&lines_, &frames_}) {
      if (fd->is_open()) board_.loop_.forget(fd->get());
      fd->reset();
    }
  }

  void give_up(const std::string& what) {
    board_.say_(fmt::format("rank {}: {}", rank_, one_line(what)));
    close();
  }

  void receive_frames() {
    boot::FrameReader& in = frame_reader_;
    constexpr std::size_t chunk = 2048;
    const ssize_t got = ::recv(frames_.get(), in.reserve(chunk), chunk, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0) return close();
    in.commit(static_cast<std::size_t>(got));
    for (auto frame = in.next(); frame && *frame && lines_.is_open(); frame = in.next()) {
      if ((*frame)->kind == FrameKind::fence_done) answer("cmd=barrier_out rc=0");
      if ((*frame)->kind == FrameKind::ask) tell((*frame)->body);
      if ((*frame)->kind == FrameKind::refused) return give_up(std::string((*frame)->body));
      if ((*frame)->kind == FrameKind::end) return close();
    }
  }

  // A library that is not ours has nothing to tell of what the rank does.
  void tell(std::string_view question) {
    boot::BodyReader body(question);
    constexpr std::string_view text = R"({"state":"of another MPI"})";
    const auto head = boot::encode_answer(body.u32(), text.size());
    std::string whole(head.data(), head.size());
    whole += text;
    frame(whole);
  }

  void answer(const std::string& line) { send(lines_, line + "\n"); }
  void frame(const std::string& text) { send(frames_, text); }

  // A rank waits for each answer, so that there is room for the next; the reader of the frames is this very thread.
  void send(const UniqueFd& to, const std::string& text) {
    const ssize_t sent = ::send(to.get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent == static_cast<ssize_t>(text.size()) || !lines_.is_open() || errno == EPIPE) return;
    give_up("its MPI library asks and asks, and does not read the answers");
  }

  void on_line(std::string_view line) {
    if (in_spawn_ || line.starts_with("mcmd=")) return on_spawn(line);
    const auto command = pmi::field(line, "cmd").value_or("");
    const auto text = [&](std::string_view key) { return std::string(pmi::field(line, key).value_or("")); };
    if (command == "init") {
      on_init(line);
    } else if (command == "get_maxes") {
      answer(fmt::format("cmd=maxes rc=0 kvsname_max=256 keylen_max={} vallen_max={}", key_max, value_max));
    } else if (command == "get_appnum") {
      answer(fmt::format("cmd=appnum rc=0 appnum={}", app_num_));
    } else if (command == "get_universe_size") {
      answer(fmt::format("cmd=universe_size rc=0 size={}", board_.universe_size_));
    } else if (command == "get_my_kvsname") {
      answer("cmd=my_kvsname rc=0 kvsname=" + board_.name_);
    } else if (command == "put") {
      const bool good = text("kvsname") == board_.name_ && !text("key").empty();
      if (good) board_.values_[text("key")] = text("value");
      answer(good ? "cmd=put_result rc=0 msg=success" : "cmd=put_result rc=-1 msg=no_such_kvs_or_no_key");
    } else if (command == "get") {
      answer_value("get_result", board_.values_, text("key"), "value");
    } else if (command == "publish_name") {
      const bool fresh = board_.names_.try_emplace(text("service"), text("port")).second;
      answer(fresh ? "cmd=publish_result info=ok rc=0 msg=success"
                   : "cmd=publish_result info=fail rc=-1 msg=published");
    } else if (command == "unpublish_name") {
      const bool was = board_.names_.erase(text("service")) > 0;
      answer(was ? "cmd=unpublish_result info=ok rc=0 msg=success"
                 : "cmd=unpublish_result info=fail rc=-1 msg=not_published");
    } else if (command == "lookup_name") {
      answer_value("lookup_result", board_.names_, text("service"), "port");
    } else if (command == "barrier_in") {
      frame(boot::encode(FrameKind::fence));
    } else if (command == "finalize") {
      frame(boot::encode(FrameKind::finalize));
      answer("cmd=finalize_ack rc=0");
    } else if (command == "abort") {
      const int code = pmi::number(line, "exitcode").value_or(1);
      frame(boot::encode_code(FrameKind::abort, code, "as its MPI library has told the launcher"));
    } else {
      give_up(fmt::format("its MPI library asks for '{}', which PMI-1 does not have", line.substr(0, 80)));
    }
  }

  void on_init(std::string_view line) {
    const int version = pmi::number(line, "pmi_version").value_or(0);
    const int asked = pmi::number(line, "pmi_subversion").value_or(0);
    if (version != 1) {
      answer("cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=-1");
      return give_up(fmt::format("its MPI library speaks PMI-{}, and rmqrun only PMI-1", version));
    }
    frame(boot::encode_hello(rank_));
    answer(fmt::format("cmd=response_to_init pmi_version=1 pmi_subversion={} rc=0", asked >= 2 ? 2 : 1));
  }

  void answer_value(std::string_view command, const std::map<std::string, std::string, std::less<>>& from,
                    const std::string& key, std::string_view field) {
    const auto found = from.find(key);
    answer(found == from.end() ? fmt::format("cmd={} info=fail rc=-1 msg=key_not_found", command)
                               : fmt::format("cmd={} info=ok rc=0 msg=success {}={}", command, field, found->second));
  }

  void on_spawn(std::string_view line) {
    in_spawn_ = line != "endcmd";
    if (pmi::number(line, "spawnssofar") > 1 || line != "endcmd") return;
    board_.say_(
        fmt::format("rank {} asks for new processes (MPI_Comm_spawn), which rmqrun --pmi does not start", rank_));
    answer("cmd=spawn_result rc=-1 msg=rmqrun_does_not_spawn_ranks_of_another_MPI");
  }

  PmiBoard& board_;
  const int rank_, app_num_;
  UniqueFd lines_, frames_;
  pmi::LineReader reader_;
  boot::FrameReader frame_reader_;
  bool in_spawn_ = false;  // between mcmd and endcmd
};

PmiBoard::PmiBoard(EventLoop& loop, const JobInfo& job, Say say)
    : loop_(loop),
      name_("rmq_" + job.job),
      universe_size_(std::max(job.size, job.universe_size)),
      say_(std::move(say)),
      ranks_(static_cast<std::size_t>(job.size)) {
  values_["PMI_process_mapping"] = process_mapping(job.host_of_rank);
}

PmiBoard::~PmiBoard() = default;

Result<UniqueFd> PmiBoard::translate(int rank, int app_num, UniqueFd frames) {
  std::array<int, 2> sockets{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()) != 0)
    return fail_errno(fmt::format("no PMI socket for rank {} (see ulimit -n)", rank));
  ranks_[static_cast<std::size_t>(rank)] =
      std::make_unique<PmiTranslator>(*this, rank, app_num, UniqueFd(sockets[0]), std::move(frames));
  return UniqueFd(sockets[1]);
}

void PmiBoard::drain(int rank) {
  const auto& translator = ranks_[static_cast<std::size_t>(rank)];
  while (translator && translator->receive_lines()) {
  }
}

void set_pmi_rank(Environment& environment, const PmiPlace& place) {
  environment.set("PMI_FD", std::to_string(place.fd));
  environment.set("PMI_RANK", std::to_string(place.rank));
  environment.set("PMI_SIZE", std::to_string(place.size));
  environment.set("MPI_LOCALRANKID", std::to_string(place.local_rank));
  environment.set("MPI_LOCALNRANKS", std::to_string(place.local_size));
}

}  // namespace rmq::launch

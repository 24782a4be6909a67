// SPDX-License-Identifier: BSD-3-Clause
// What a connection server hears: from ranks on their sockets, from strangers at the gate; and what a rank reads from
// its environment.
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <string>

#include "fuzz/fuzz.hpp"
#include "start/boot_ticket.hpp"
#include "start/bootstrap_env.hpp"
#include "tools/launch/server.hpp"

namespace rmq::fuzz {
namespace {

using boot::FrameKind;

constexpr int kRanks = 3;

class Hears final : public launch::Server::Upcalls {
 public:
  void on_join(int rank, pid_t) override { require(rank >= 0 && rank < kRanks, "who joins is a rank"); }
  void on_abort(int, int, std::string_view why, bool) override { text += why.size(); }
  void on_disconnect(int) override {}
  void on_answer(int, std::uint32_t, std::string_view answer) override { text += answer.size(); }
  void on_violation(int, std::string_view what) override { require(!what.empty(), "a violation is named"); }
  std::size_t text = 0;
};

std::string some(Reader& in) {
  const auto bytes = in.bytes(in.u8());
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// A frame that may be right, or bytes.
std::string frame(Reader& in) {
  switch (in.pick(10)) {
    case 0:
      return some(in);
    case 1: {
      const int rank = in.u8() % 4;
      return boot::encode_hello(rank);
    }
    case 2: {
      const std::string key = "k" + std::to_string(in.pick(4));
      return boot::encode_put(key, some(in));
    }
    case 3:
      return boot::encode(FrameKind::get, "k" + std::to_string(in.pick(4)));
    case 4:
      return boot::encode(FrameKind::fence);
    case 5:
      return boot::encode(FrameKind::finalize);
    case 6:
      return boot::encode_code(in.pick(2) == 0 ? FrameKind::abort : FrameKind::lost, in.u8(), some(in));
    default: {
      const auto kind = static_cast<FrameKind>(in.u8());
      return boot::encode(kind, some(in));
    }
  }
}

void serve(Reader& in) {
  static const std::unique_ptr<launch::EventLoop> loop = std::move(*launch::EventLoop::create());
  Hears hears;
  launch::Server server(*loop, kRanks, hears);
  std::array<launch::UniqueFd, kRanks> ranks;
  for (int rank = 0; rank < kRanks; ++rank) {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0) return;
    ranks[static_cast<std::size_t>(rank)].reset(ends[0]);
    server.add(rank, launch::UniqueFd(ends[1]));
  }
  while (!in.done()) {
    const int rank = static_cast<int>(in.pick(kRanks));
    const int fd = ranks[static_cast<std::size_t>(rank)].get();
    if (in.pick(16) == 15) {
      server.depart(rank);
      continue;
    }
    const std::string text = frame(in);
    ::send(fd, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    server.drain(rank);
    char answers[4096];
    while (::recv(fd, answers, sizeof answers, MSG_DONTWAIT) > 0) {
    }
  }
  server.end(1, "over");
}

void come_in(Reader& in) {
  const std::string tickets = std::string(boot::ticket_bytes, 'a') + std::string(boot::ticket_bytes, 'b');
  const std::string text = some(in);
  const auto kind = static_cast<FrameKind>(in.u8());
  require(!boot::Entry::opened({kind, text}, tickets), "no mark is guessed");
  boot::Entry rank(FrameKind::join, 1, std::string(boot::ticket_bytes, 'b'));
  require(!rank.answer({kind, text}), "no server is believed without a proof");
  boot::FrameReader reader;
  const std::string opening = rank.opening();
  opening.copy(reader.reserve(opening.size()), opening.size());
  reader.commit(opening.size());
  auto entry = boot::Entry::opened(**reader.next(), tickets);
  require(entry.has_value() && entry->rank() == 1, "a rank is known by its mark");
  entry->challenge();
  require(!entry->is_proven_by({kind, text}) && !entry->is_proven_by({FrameKind::proof, text}), "no proof is guessed");
}

void read_environment(Reader& in) {
  const std::string hosts = some(in), server = some(in), rank = some(in), size = some(in), flight = some(in);
  const auto get = [&](const char* name) -> const char* {
    const std::string_view wanted = name;
    if (wanted == "RMQ_HOSTS") return hosts.c_str();
    if (wanted == "RMQ_SERVER") return server.c_str();
    if (wanted == "RMQ_RANK") return rank.c_str();
    if (wanted == "RMQ_SIZE") return size.c_str();
    if (wanted == "RMQ_FLIGHT_MEMORY") return flight.c_str();
    if (wanted == "RMQ_JOB") return "0123456789abcdef";
    if (wanted == "RMQ_SECRET") return "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    return nullptr;
  };
  if (const auto launched = boot::read_launched_rank(get)) {
    const JobInfo& job = launched->job;
    require(job.rank >= 0 && job.rank < job.size, "a rank is one of the job's");
    require(job.host_of_rank.size() == job.size, "each rank has a host");
  }
  constexpr int kPlaced = 12;
  if (const auto placed = boot::parse_hosts(hosts, kPlaced)) {
    require(placed->size() == kPlaced, "each rank has a host");
    int all = 0;
    for (int host = 0; host < placed->hosts(); ++host) all += placed->count(host, kPlaced);
    require(all == kPlaced, "each rank has one host");
  }
}

}  // namespace

std::vector<Script> seeds() {
  std::vector<Script> all;
  const auto say = [](Writer& w, std::size_t rank, std::size_t what) -> Writer& { return w.u8(rank).u8(0).u8(what); };
  for (std::size_t what = 0; what < 8; ++what) {
    Writer w;
    w.u8(0);
    for (std::size_t rank = 0; rank < kRanks; ++rank) say(w, rank, 1).u8(rank);
    for (std::size_t rank = 0; rank < kRanks; ++rank) {
      say(w, rank, 3).u8(rank);
      say(w, rank, 2).u8(rank).u8(5).text("value");
      say(w, rank, what).u8(3).u8(4).text("text");
      say(w, rank, 4);
    }
    for (std::size_t rank = 0; rank < kRanks; ++rank) say(w, rank, 5);
    all.push_back(w.script);
  }
  for (std::size_t kind = 1; kind < 32; ++kind) {
    Writer w;
    w.u8(0);
    say(w, 0, 1).u8(0);
    say(w, 0, 9).u8(kind).u8(8).u64(0x0000000100000001);
    all.push_back(w.script);
    Writer entry;
    entry.u8(1).u8(68).text(std::string(68, 'x')).u8(kind);
    all.push_back(entry.script);
  }
  Writer environment;
  environment.u8(2).u8(7).text("0*1,1*2").u8(4).text("fd:5").u8(1).text("2").u8(1).text("3").u8(5).text("5:1:0");
  all.push_back(environment.script);
  return all;
}

}  // namespace rmq::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  rmq::fuzz::Reader in(data, bytes);
  switch (in.pick(3)) {
    case 0:
      rmq::fuzz::serve(in);
      break;
    case 1:
      rmq::fuzz::come_in(in);
      break;
    default:
      rmq::fuzz::read_environment(in);
  }
  return 0;
}

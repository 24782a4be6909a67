// SPDX-License-Identifier: BSD-3-Clause
#include "tools/diag/job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace rmq::diag {

namespace {

using nlohmann::json;

const json& list(const json& object, const char* name) {
  static const json none = json::array();
  const auto found = object.find(name);
  return found != object.end() && found->is_array() ? *found : none;
}

template <class T>
T number(const json& object, const char* name, T otherwise = 0) {
  const auto found = object.find(name);
  return found != object.end() && (found->is_number() || found->is_boolean()) ? found->get<T>() : otherwise;
}

bool flag(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_boolean() && found->get<bool>();
}

std::string text(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

std::vector<int> ranks(const json& object, const char* name) {
  std::vector<int> out;
  for (const json& entry : list(object, name))
    if (entry.is_number_integer()) out.push_back(entry.get<int>());
  return out;
}

Message read_message(const json& object) {
  return {number<std::uint32_t>(object, "context"),
          number<int>(object, "source"),
          number<int>(object, "tag"),
          number(object, "peer", -1),
          number<std::uint64_t>(object, "bytes"),
          flag(object, "matched"),
          text(object, "step")};
}

std::vector<Message> read_messages(const json& report, const char* name) {
  std::vector<Message> out;
  for (const json& entry : list(report, name)) out.push_back(read_message(entry));
  return out;
}

Comm read_comm(const json& object, int job_size) {
  Comm c;
  c.context = number<std::uint32_t>(object, "context");
  c.recv_context = number<std::uint32_t>(object, "recv_context");
  c.name = text(object, "name");
  c.members = ranks(object, "members");
  if (!object.contains("members"))
    for (int r = 0; r < job_size; ++r) c.members.push_back(r);
  c.local = ranks(object, "local");
  c.local_context = number<std::uint32_t>(object, "local_context");
  const std::size_t size = c.is_inter() ? c.local.size() : c.members.size();
  c.whole = number(object, "size", size) == size &&
            (!c.is_inter() || number(object, "remote_size", c.members.size()) == c.members.size());
  if (c.name.empty())
    c.name = !c.is_inter() ? fmt::format("the communicator with context {}", c.context)
             : c.context == c.recv_context
                 ? fmt::format("the inter-communicator with context {}", c.context)
                 : fmt::format("the inter-communicator with contexts {} and {}", std::min(c.context, c.recv_context),
                               std::max(c.context, c.recv_context));
  c.sources = ranks(object, "sources");
  c.destinations = ranks(object, "destinations");
  c.collectives = number<std::uint32_t>(object, "collectives");
  for (const json& call : list(object, "called"))
    c.called.push_back({number<std::uint32_t>(call, "number"), text(call, "call"), number<std::uint64_t>(call, "bytes"),
                        number(call, "root", -1)});
  return c;
}

Window read_window(const json& object) {
  return {number<std::uint32_t>(object, "window"),
          number<std::uint32_t>(object, "fences"),
          ranks(object, "members"),
          ranks(object, "holders"),
          ranks(object, "waiters"),
          ranks(object, "locked"),
          ranks(object, "access"),
          ranks(object, "unposted"),
          ranks(object, "exposure"),
          ranks(object, "uncompleted"),
          flag(object, "accessing"),
          flag(object, "exposed")};
}

void read_waits(Rank& r, const json& awaits, std::vector<Wait>& to) {
  for (const json& entry : awaits) {
    Wait w;
    w.kind = text(entry, "kind");
    if (w.kind == "more") {
      r.more_waits += number<std::size_t>(entry, "number");
      continue;
    }
    if (w.kind == "collective") {  // of a request: what it needs next
      read_waits(r, list(entry, "needs"), to);
      continue;
    }
    w.message = read_message(entry);
    w.window = number<std::uint32_t>(entry, "window");
    w.number = number<std::uint32_t>(entry, "number");
    w.text = text(entry, "text");
    // Any PE may change its memory, or send an active message.
    if (const Comm* world = w.kind == "memory" || w.kind == "any_message" ? r.comm_of(0) : nullptr) {
      w.peers = world->members;
      std::erase(w.peers, r.rank);
      w.any = true;
    } else if (w.kind == "ready") {
      // It waits for itself.
    } else if (w.message.peer >= 0) {
      w.peers = {w.message.peer};
    } else if (const Comm* c = r.comm_of(w.message.context); c && (w.kind == "recv" || w.kind == "probe")) {
      const auto source = static_cast<std::size_t>(w.message.source);
      if (w.message.source >= 0 && source < c->members.size()) {
        w.peers = {c->members[source]};
      } else {
        w.peers = c->members;
        std::erase(w.peers, r.rank);
        w.any = true;
      }
    }
    to.push_back(std::move(w));
  }
}

void note_queues(Rank& r, const json& report) {
  const auto note = [&](std::string what) { r.notes.push_back(std::move(what)); };
  if (const auto n = number<std::size_t>(report, "posted")) note(fmt::format("{} posted", n));
  if (const auto n = number<std::size_t>(report, "unexpected"))
    note(fmt::format("{} unexpected ({} bytes)", n, number<std::uint64_t>(report, "unexpected_bytes")));
  auto announced =
      std::count_if(r.sends.begin(), r.sends.end(), [](const Message& m) { return m.step == "announced"; });
  announced -=
      std::count_if(r.waits.begin(), r.waits.end(), [](const Wait& w) { return w.message.step == "announced"; });
  if (announced > 0) note(fmt::format("{} more rendezvous unanswered", announced));
  for (const json& peer : list(report, "peers")) {
    if (peer.contains("error")) r.lost.push_back({number(peer, "rank", -1), text(peer, "error")});
    const HeldUp held{number(peer, "rank", -1), number<std::size_t>(peer, "pending"), text(peer, "reason")};
    if (held.reason.empty()) continue;
    note(fmt::format("{} pending to {}: {} (credit {})", held.messages, ranks_text(r, {held.to}), held.reason,
                     number<std::int64_t>(peer, "credit")));
    r.held_up.push_back(held);
  }
  for (const Window& w : r.windows)
    if (!w.holders.empty())
      note(fmt::format("lock of window {} held by {}{}", w.id, ranks_text(r, w.holders),
                       w.waiters.empty() ? "" : ", wanted by " + ranks_text(r, w.waiters)));
}

Fate fate_of(const Rank& r, const std::string& mpi) {
  if (r.process == "gone") return mpi == "finalized" ? Fate::left : Fate::gone;
  if (mpi == "finalized") return Fate::left;
  if (r.process == "stopped") return Fate::stopped;
  if (mpi == "not initialised") return Fate::starting;
  if (r.state == "waiting" || (r.state == "outside" && !r.waits.empty())) return Fate::waiting;
  if (r.state == "testing") return Fate::testing;
  return r.state.empty() ? Fate::silent : Fate::computing;
}

Rank read_rank(const json& entry, int job_size) {
  static const json nothing = json::object();
  Rank r;
  r.rank = number<int>(entry, "rank");
  r.program = text(entry, "program");
  r.process = text(entry, "process");
  r.host = text(entry, "host");
  r.pid = number<std::int64_t>(entry, "pid");
  const json& report = entry.contains("report") ? entry["report"] : nothing;
  for (const json& other : list(report, "foreigners"))
    r.foreigners[number(other, "number", -1)] =
        fmt::format("rank {} of job {}", number(other, "rank", 0), text(other, "job"));
  r.state = text(report, "state");
  r.cut = flag(report, "cut");
  r.call = text(report, "call");
  for (const json& comm : list(report, "comms")) r.comms.push_back(read_comm(comm, job_size));
  for (const json& window : list(report, "windows")) r.windows.push_back(read_window(window));
  r.sends = read_messages(report, "sends");
  r.receives = read_messages(report, "receives");
  r.messages = read_messages(report, "messages");
  read_waits(r, list(report, "awaits"), r.waits);
  for (const json& dormant : list(report, "dormant")) {
    std::vector<Wait> request;
    read_waits(r, list(dormant, "request"), request);
    for (Wait& w : request) r.dormant.push_back({flag(dormant, "started"), std::move(w)});
  }
  for (const json& thread : list(report, "threads")) {
    if (text(thread, "state") != "waiting") continue;
    if (r.state == "outside") r.call = text(thread, "call");
    read_waits(r, list(thread, "awaits"), r.waits);
  }
  // Agreements of communicator making do not say what they wait for; their receives do.
  if (r.state == "waiting" && r.waits.empty())
    for (const Message& m : r.receives)
      if (is_collective(m) && m.peer >= 0) r.waits.push_back({"recv", m, {m.peer}, false, 0, 0});
  r.fate = fate_of(r, text(entry, "mpi"));
  note_queues(r, report);
  return r;
}

}  // namespace

const Comm* Rank::comm_of(std::uint32_t context, int to) const {
  const std::uint32_t base = context & ~1u;
  const auto reaches = [to](const std::vector<int>& members) { return to < 0 || has(members, to); };
  for (const Comm& c : comms) {
    if ((to < 0 ? c.recv_context : c.context) == base && reaches(c.members)) return &c;
    if (c.is_inter() && c.local_context == base && reaches(c.local)) return &c;
  }
  return nullptr;
}

const Window* Rank::window(std::uint32_t id) const {
  for (const Window& w : windows)
    if (w.id == id) return &w;
  return nullptr;
}

Job read_job(const json& document) {
  Job job;
  job.id = text(document, "job");
  const json& all = list(document, "ranks");
  for (const json& entry : all) job.ranks.push_back(read_rank(entry, static_cast<int>(all.size())));
  return job;
}

}  // namespace rmq::diag

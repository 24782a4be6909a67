// SPDX-License-Identifier: BSD-3-Clause
#include "adi/reporting.hpp"

#include <ctime>

#include "base/os/clock.hpp"

namespace rmq::adi {
namespace {

// CPU time of the process but for this thread.
std::uint64_t cpu_of_others_ns() {
  const std::uint64_t own = os::read_ns(CLOCK_THREAD_CPUTIME_ID);
  return os::read_ns(CLOCK_PROCESS_CPUTIME_ID) - own;
}

const char* name_of(Doing d) {
  switch (d) {
    case Doing::outside:
      return "outside";
    case Doing::callback:
      return "callback";
    case Doing::busy:
      return "busy";
    case Doing::testing:
      return "testing";
    case Doing::waiting:
      return "waiting";
  }
  return "";
}

void tell_match(const Request& r, ReportText& to) {
  to.field("context", r.match.context);
  to.field("source", r.match.source);
  to.field("tag", r.match.tag);
  to.field("peer", r.peer);
}

void tell_message(const Request& r, ReportText& to) {
  to.begin_object();
  tell_match(r, to);
  to.field("bytes", r.packet.kind == Kind::REQUEST_SEND ? r.packet.request_send.size
                    : r.unexpected.self_send            ? r.unexpected.self_send->view.bytes
                                                        : r.owned_bytes);
  to.end_object();
}

}  // namespace

void tell_awaited_request(const void* request, ReportText& to) {
  tell_request(*static_cast<const Request*>(request), to);
}

void tell_request(const Request& r, ReportText& to) {
  if (r.kind != RequestKind::send && r.kind != RequestKind::recv) return;
  to.begin_object();
  to.field("kind", r.kind == RequestKind::send ? "send" : "recv");
  tell_match(r, to);
  to.field("bytes", r.view.bytes);
  to.field("step", step_name(r.step));
  to.field("matched", r.matched());
  if (r.kind == RequestKind::recv && r.parts > 1) to.field("parts", r.parts);
  to.end_object();
}

Reporting::Reporting(DeviceOptions& options, Bootstrap& bootstrap) : Losses(options, bootstrap) {
  if (!simulation_) report_memory_ = std::make_unique_for_overwrite<char[]>(max_report);
  bootstrap.on_ask(&on_ask, this);
}

Doing Reporting::doing() const {
  const Doing now = gate_.doing();
  return now == Doing::outside && idle_tests_.keep_on() ? Doing::testing : now;
}

void Reporting::look(Doing doing) {
  looking_as_ = doing;
  bootstrap_.on_watch();
  if (is_fault_tolerant()) hear_of_deaths();
}

std::string_view Reporting::on_ask(void* device, bool all) {
  auto& d = *static_cast<Reporting*>(device);
  return d.report(d.looking_as_, all);
}

std::string_view Reporting::report(Doing doing, bool all) {
  ReportText to(report_memory_.get(), max_report);
  to.begin_object();
  to.field("state", name_of(doing));
  to.field("call", call_name());
  to.field("sent", counters_.sent);
  to.field("received", counters_.received);
  to.field("waits", gate_.waits());
  if (gate_.several()) to.field("beside", cpu_of_others_ns());
  to.field("elsewhere", may_wait_elsewhere());
  if (all) {
    to.share(4);
    tell_foreigners(to);
    to.share(4);
    to.begin_list("awaits");
    const bool awaits = doing == Doing::waiting || doing == Doing::testing;
    if (awaits && gate_.awaited.tell) gate_.awaited.tell(gate_.awaited.object, to);
    to.end_list();
    to.share(6);
    tell_others(to);
    to.share(6);
    tell_peers(to);
    tell_queues(to);
    to.share(2);
    to.begin_list("windows");
    for (const Extension* e : extensions()) e->tell(to);
    to.end_list();
    to.share(1);
    if (more_to_tell_) more_to_tell_(to);
    to.field("cut", to.has_left_out());
  }
  to.end_object();
  return to.is_cut() ? R"({"state":"busy","call":"","sent":0,"received":0,"waits":0})" : to.text();
}

// Whether what ends a wait here may come from another job.
bool Reporting::may_wait_elsewhere() const {
  if (!parties().empty() || gate_.awaited.tell == &tell_other_job) return true;
  for (const Gate::Away* a = gate_.away(); a; a = a->next())
    if (!a->in_callback() && a->awaited().tell == &tell_other_job) return true;
  return false;
}

// What the numbers beyond those of the job stand for.
void Reporting::tell_foreigners(ReportText& to) const {
  if (foreign().empty()) return;
  to.begin_list("foreigners");
  for (std::size_t i = 0; i < foreign().size() && to.has_room(); ++i) {
    to.begin_object();
    to.field("number", size() + static_cast<int>(i));
    char job[16];
    for (int digit = 0; digit < 16; ++digit) job[digit] = "0123456789abcdef"[foreign()[i].job >> (60 - 4 * digit) & 15];
    to.field("job", std::string_view(job, sizeof job));
    to.field("rank", foreign()[i].rank);
    to.end_object();
  }
  to.end_list();
}

// Calls of other threads that have given the device away for a while.
void Reporting::tell_others(ReportText& to) const {
  to.begin_list("threads");
  for (const Gate::Away* a = gate_.away(); a; a = a->next()) {
    if (!to.has_room()) break;
    to.begin_object();
    to.field("call", a->name());
    to.field("state", name_of(a->in_callback() ? Doing::callback : Doing::waiting));
    to.begin_list("awaits");
    if (!a->in_callback() && a->awaited().tell) a->awaited().tell(a->awaited().object, to);
    to.end_list();
    to.end_object();
  }
  to.end_list();
}

void Reporting::tell_queues(ReportText& to) const {
  constexpr int kMost = 100;  // of each kind; how many there are is told in any case
  const auto each = [&](const char* name, auto&& wanted, auto&& tell) {
    int n = 0;
    to.share(5);
    to.begin_list(name);
    for (std::uint32_t i = 0; i < pool_.capacity(); ++i) {
      const Request& r = *pool_.at(i);
      if ((r.self.generation & 1) == 0 || !wanted(r)) continue;
      if (n++ < kMost && to.has_room()) tell(r, to);
    }
    to.end_list();
    return n;
  };
  const auto is_open = [](const Request& r, RequestKind kind) { return r.kind == kind && !r.complete(); };
  each(
      "sends", [&](const Request& r) { return is_open(r, RequestKind::send); }, tell_request);
  each(
      "receives", [&](const Request& r) { return is_open(r, RequestKind::recv); }, tell_request);
  each(
      "messages", [](const Request& r) { return r.kind == RequestKind::message; }, tell_message);
  to.field("posted", match_.posted());
  to.field("unexpected", match_.unexpected());
  to.field("unexpected_bytes", counters_.unexpected_bytes);
}

// Those that are lost or with something that waits; then, as far as there is room, those with little credit.
void Reporting::tell_peers(ReportText& to) const {
  const auto tell = [&to](const Channel& c) {
    if (!to.has_room()) return;
    to.begin_object();
    to.field("rank", c.rank);
    to.field("credit", c.credit);
    to.field("pending", c.messages.size());
    to.field("packets", c.waiting_packets());
    // Without credit the next message waits for the receiver, else the link is full.
    if (!c.messages.empty())
      to.field("reason", c.credit < c.cost_of(c.messages.front()->view.bytes) ? "no credit" : "link full");
    to.field("lost", c.lost);
    if (c.lost) to.field("error", c.error.what);
    to.end_object();
  };
  const auto in_trouble = [](const Channel& c) { return c.method && (c.waits() || c.lost); };
  to.begin_list("peers");
  for (const Channel& c : channels_)
    if (in_trouble(c)) tell(c);
  for (const Channel& c : channels_)
    if (c.method && !in_trouble(c) && c.credit < static_cast<std::int64_t>(c.allotment / 4)) tell(c);
  to.end_list();
}

void Reporting::on_interrupt(bool alone) {
  if (!open_) return;
  if (gate_.threads()) {
    // Wherever in its own lock() or unlock() this thread may have been interrupted, the device is either taken or free;
    // if free, this is one more owner in a row.
    if (gate_.agent_try_lock()) {
      bootstrap_.tell(report(doing(), true));
      return gate_.agent_unlock();
    }
  } else if (alone) {
    if (gate_.attending()) return;  // a call that waits looks at the socket itself
    if (gate_.doing() != Doing::busy) {
      bootstrap_.tell(report(doing(), true));
      return;
    }
  }
  char memory[512];
  ReportText to(memory, sizeof memory);
  to.begin_object();
  to.field("state", name_of(gate_.doing()));
  to.field("call", call_name());
  to.end_object();
  bootstrap_.tell(to.text());
}

}  // namespace rmq::adi

// SPDX-License-Identifier: BSD-3-Clause
// What a window tells about itself when somebody asks: who holds or waits for its lock, its open epochs, and what a
// call on it waits for. adi/report.hpp says when this is called; nothing here allocates.
#include <algorithm>

#include "rma/window/domain.hpp"
#include "rma/window/window.hpp"

namespace rmq::rma {
namespace {

const char* name_of(WaitFor::What what) {
  switch (what) {
    case WaitFor::What::lock:
      return "lock";
    case WaitFor::What::post:
      return "post";
    case WaitFor::What::complete:
      return "complete";
    case WaitFor::What::fence:
      return "fence";
    case WaitFor::What::operations:
      return "operations";
  }
  return "";
}

}  // namespace

void Domain::tell(ReportText& to) const {
  for (const auto& [id, window] : windows_) {
    if (!to.has_room()) break;
    window->tell(to);
  }
}

void Window::tell_wait(const WaitFor& wait, ReportText& to) const {
  const auto one = [&](WaitFor::What what, int rank) {
    if (!to.has_room()) return;
    to.begin_object();
    to.field("kind", name_of(what));
    to.field("window", core_.options.id);
    to.field("peer", core_.world(rank));
    if (what == WaitFor::What::fence) to.field("number", active_.barriers());
    to.end_object();
  };
  if (wait.what == WaitFor::What::complete) {
    for (const int rank : active_.exposure_group()) {
      if (!core_.has_completed(rank)) one(wait.what, rank);
    }
    return;
  }
  const Channel* c = sender_.find(wait.rank);
  if (wait.what != WaitFor::What::operations || !c) return one(wait.what, wait.rank);
  one(c->state() == Channel::State::asked      ? WaitFor::What::lock
      : c->state() == Channel::State::unposted ? WaitFor::What::post
                                               : wait.what,
      wait.rank);
}

void Window::tell_waited(const void* wait, ReportText& to) {
  const auto& w = *static_cast<const WaitFor*>(wait);
  w.core->window.tell_wait(w, to);
}

void Window::tell(ReportText& to) const {
  const auto places = [&](const char* name, const std::vector<int>& of, auto&& wanted) {
    to.begin_list(name);
    for (const int rank : of) {
      if (to.has_room() && wanted(rank)) to.entry(core_.world(rank));
    }
    to.end_list();
  };
  const auto all = [](int) { return true; };
  to.begin_object();
  to.field("window", core_.options.id);
  to.begin_list("members");
  for (const Rank r : core_.options.ranks) {
    if (to.has_room()) to.entry(r);
  }
  to.end_list();
  // Places in the queue of my lock. Those of origins that ask by packets are counted as mine there.
  std::uint32_t held_for_others = 0, waited_for_others = 0;
  for (const auto& o : server_.origins()) {
    held_for_others += o->has_lock();
    waited_for_others += o->lock == Origin::Lock::waiting;
  }
  const auto lock_list = [&](const char* name, auto&& by_packets, auto&& direct) {
    to.begin_list(name);
    for (int i = 0; core_.control && i < core_.host.size(); ++i) {
      const Pair& pair = core_.control->pair(i);
      const std::uint32_t mine = i == core_.host_me;
      const std::uint32_t waits = pair.waits.load(std::memory_order_relaxed) - mine * waited_for_others;
      const std::uint32_t has =
          pair.hold.load(std::memory_order_relaxed) - mine * (held_for_others + waited_for_others);
      if (to.has_room() && direct(has, waits)) to.entry(core_.world(core_.host[i]));
    }
    for (const auto& o : server_.origins())
      if (to.has_room() && by_packets(*o)) to.entry(o->world);
    to.end_list();
  };
  lock_list(
      "holders", [](const Origin& o) { return o.has_lock(); },
      [](std::uint32_t has, std::uint32_t waits) { return has > waits; });
  lock_list(
      "waiters", [](const Origin& o) { return o.lock == Origin::Lock::waiting; },
      [](std::uint32_t, std::uint32_t waits) { return waits > 0; });
  places("locked", core_.locked, all);
  to.field("lock_all", core_.lock_all);
  to.field("fences", active_.barriers());
  to.field("accessing", core_.accessing);
  places("access", active_.access_group(), all);
  places("unposted", active_.access_group(), [&](int rank) { return !core_.has_posted(rank); });
  to.field("exposed", core_.exposed);
  places("exposure", active_.exposure_group(), all);
  places("uncompleted", active_.exposure_group(), [&](int rank) { return !core_.has_completed(rank); });
  to.end_object();
}

}  // namespace rmq::rma

// SPDX-License-Identifier: BSD-3-Clause
// Life of windows.
#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <cstdint>

#include "engine/coll/coll.hpp"
#include "engine/comm/comms.hpp"
#include "engine/comm/together.hpp"
#include "engine/object/attributes.hpp"
#include "engine/object/deaths.hpp"
#include "engine/window/windows.hpp"

namespace rmq::mpi {

constinit detail::LatestWindow detail::latest_window;

namespace {

/// A communicator like `c` in a context of its own, which is the window's number as well.
Comm* window_comm(Comm& c) {
  auto own = std::make_unique<Comm>();
  own->device = c.device;
  own->terms = c.terms;
  const Contexts agreed = agree_on_contexts(whole_party(c), 1);
  own->context = own->recv_context = agreed[0];
  own->name = fmt::format("window {}", own->context);
  own->traits = agreed.traits;
  own->group = c.group;
  retain(*own->group);
  own->rank = c.rank;
  own->errhandler = c.errhandler;
  retain(*own->errhandler);
  return own.release();
}

int flavor_number(rma::Flavor flavor) {
  switch (flavor) {
    case rma::Flavor::create:
      return MPI_WIN_FLAVOR_CREATE;
    case rma::Flavor::allocate:
      return MPI_WIN_FLAVOR_ALLOCATE;
    case rma::Flavor::shared:
      return MPI_WIN_FLAVOR_SHARED;
    case rma::Flavor::dynamic:
      return MPI_WIN_FLAVOR_DYNAMIC;
  }
  return 0;
}

/// `talk`: on which the members talk while they make it.
rma::WindowOptions options_of(const NewWin& made, const Info* info, const Comm& own, Comm& talk) {
  rma::WindowOptions o;
  o.id = own.context;
  o.flavor = made.flavor;
  o.base = made.base;
  o.size = static_cast<std::uint64_t>(made.size);
  o.disp_unit = static_cast<std::uint64_t>(made.disp_unit);
  o.hints = hints_of(info);
  if (o.flavor == rma::Flavor::shared && !o.hints.noncontiguous) o.sizes = gather_all(whole_party(talk), {&o.size, 1});
  return o;
}

/// The first member whose part of making the window has failed, or -1. Only mapping others' memory can fail in some
/// members and not in others: all learn of it, so that none goes on to use a window that not all have.
int first_failed(Comm& talk, bool mine_is_well) {
  const std::uint64_t mine = mine_is_well ? 0 : 1;
  const auto all = gather_all(whole_party(talk), {&mine, 1});
  const auto failed = std::find(all.begin(), all.end(), std::uint64_t{1});
  return failed == all.end() ? -1 : static_cast<int>(failed - all.begin());
}

void check_new(const NewWin& made) {
  if (made.size < 0)
    fail_call(MPI_ERR_SIZE, fmt::format("invalid size {} (argument size; must not be negative)", made.size));
  if (made.disp_unit <= 0)
    fail_call(MPI_ERR_DISP,
              fmt::format("invalid displacement unit {} (argument disp_unit; must be positive)", made.disp_unit));
  if (made.flavor == rma::Flavor::create && made.size > 0 && !made.base) detail::null_argument(MPI_ERR_BASE, "base");
}

/// This member's part in it.
void open(Win& w, const NewWin& made, const Info* info, Comm& talk) {
  w.comm = window_comm(talk);
  w.errhandler = find_errhandler(MPI_ERRORS_ARE_FATAL);
  rma::WindowOptions options = options_of(made, info, *w.comm, talk);
  // The call that would tell of it may never come: the rank may wait for others first (engine/life/losses.hpp).
  options.on_lost = [win = &w](Rank lost, bool under_way) {
    if (under_way && runtime().is_active() && win->errhandler->is_fatal()) end_for_loss(*runtime().device, lost);
  };
  w.window = prepare_window(*w.comm, std::move(options));
  const auto opened = open_window(*w.window, talk);
  const int failed = made.flavor == rma::Flavor::shared ? first_failed(talk, opened.has_value()) : -1;
  if (!opened) {
    const bool memory = opened.error().code == Errc::no_memory;
    fail_call(memory ? MPI_ERR_NO_MEM : MPI_ERR_RMA_SHARED, opened.error().what);
  }
  if (failed >= 0) {
    fail_call(MPI_ERR_NO_MEM, fmt::format("rank {} cannot map the window memory of the others",
                                          w.comm->group->world[static_cast<std::size_t>(failed)]));
  }
  if (made.flavor == rma::Flavor::shared) w.window->all_have_opened();
  w.hints = describe_hints(w.window->hints(), made.flavor);
  w.bytes = static_cast<MPI_Aint>(w.window->bytes());
  w.disp_unit = static_cast<int>(std::min<std::uint64_t>(w.window->disp_unit(), INT_MAX));
  w.flavor = flavor_number(made.flavor);
}

}  // namespace

rma::Domain& shared_domain() {
  forget_latest_window();
  Runtime& rt = runtime();
  if (!rt.domain) rt.domain = std::make_shared<rma::Domain>(*rt.device);
  return *rt.domain;
}

std::unique_ptr<rma::Window> prepare_window(const Comm& c, rma::WindowOptions options) {
  options.ranks = c.group->world;
  options.me = c.rank;
  return rma::Window::prepare(shared_domain(), std::move(options));
}

Result<void> open_window(rma::Window& window, Comm& talk) {
  const Ranks& host = window.host();
  return window.open([&](std::span<std::uint64_t> words) { and_all(whole_party(talk), words); },
                     [&](std::span<const std::uint64_t> words) { return gather_all(whole_party(talk), words); },
                     [&](std::span<const std::uint64_t> words) {
                       Party mine = whole_party(talk);
                       mine.ranks = host.list();
                       mine.me = host.place_of(talk.rank);
                       return gather_all(mine, words);
                     });
}

Win& make_window(Comm& c, const NewWin& made) {
  check_new(made);
  const Info* info = optional_info_arg(made.info);
  note_collective(c);
  auto w = std::make_unique<Win>();
  ft::Together members(c);
  const auto discard = [&] {
    if (w->comm) w->comm->stillborn = true;
    w.reset();
  };
  members.run([&] { open(*w, made, info, members.own()); });
  if (!members.is_well()) discard();
  members.conclude(discard);
  return *runtime().windows.add(std::move(w));
}

int free_window(Win& w, MPI_Win& handle) {
  check(w, w.window->may_close());
  if (const int code = delete_all_attributes(w.attributes, w.handle); code != MPI_SUCCESS) return code;
  note_collective(*w.comm);
  if (ft::may_fail()) {
    ft::meet_living(*w.comm);
  } else if (const int error = coll::barrier(*w.comm); error != MPI_SUCCESS) {
    fail_call(error, "not all members of the window have come");
  }
  forget_latest_window();
  runtime().windows.remove(&w);
  handle = MPI_WIN_NULL;
  return MPI_SUCCESS;
}

void end_windows() {
  Runtime& rt = runtime();
  std::vector<Win*> left;
  rt.windows.for_each([&](Win& w) { left.push_back(&w); });
  forget_latest_window();
  for (Win* w : left) rt.windows.remove(w);
  rt.domain.reset();
}

}  // namespace rmq::mpi

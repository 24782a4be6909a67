// SPDX-License-Identifier: BSD-3-Clause
// The life of a window, and the loss of a member.
#include "rma/window/window.hpp"

#include <utility>

#include "rma/window/domain.hpp"

namespace rmq::rma {

Window::Window(Domain& domain, WindowOptions options)
    : core_(*this, &Window::tell_waited, domain, std::move(options)), domain_(domain) {}

std::unique_ptr<Window> Window::prepare(Domain& domain, WindowOptions options) {
  std::unique_ptr<Window> w(new Window(domain, std::move(options)));
  w->memory_.take();
  domain.add(*w);
  return w;
}

Result<void> Window::open(const Told& told) {
  if (auto opened = memory_.open(told); !opened) return opened;
  needs_agent_ = memory_.is_served() && !core_.options.hints.no_locks;
  if (needs_agent_) domain_.need_agent(true);
  return {};
}

Fault Window::may_close() {
  if (core_.in_lock() || core_.in_fence() || core_.accessing || core_.exposed) return Fault::sync;
  sender_.wait_idle();
  return Fault::none;
}

Window::~Window() {
  if (needs_agent_) domain_.need_agent(false);
  domain_.remove(*this);
}

void Window::peer_lost(Rank lost) {
  const int rank = core_.member(lost);
  if (rank < 0) return;
  core_.lost_members.push_back(rank);
  Channel* const c = sender_.find(rank);
  const bool under_way = c && c->lost();
  server_.peer_lost(rank);
  if (core_.options.on_lost) core_.options.on_lost(lost, under_way);
}

}  // namespace rmq::rma

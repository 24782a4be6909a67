// SPDX-License-Identifier: BSD-3-Clause
#include "rma/core/domain_core.hpp"

namespace rmq::rma {

DomainCore::DomainCore(adi::Device& device)
    : device_(device), types_out_(device, counters_), types_in_(device.config(), device.trace(), counters_) {}

void DomainCore::protocol_error(Rank from, const Packet& p, const char* why) {
  ++counters_.protocol_errors;
  device_.protocol_error(from, p, why);
}

// ---- who goes on at the next turn ----

void DomainCore::serve_locks_of(Server& server, bool want) {
  std::erase(serving_, &server);
  if (want) serving_.push_back(&server);
  want_turns();
}

void DomainCore::want_turns() {
  device_.want_turns(!serving_.empty() || !behind_.empty() || !again_.empty() || !deferred_.empty());
}

void DomainCore::push_later(Channel& channel) {
  deferred_.push_back(&channel);
  want_turns();
}

void DomainCore::forget_push(Channel& channel) {
  std::erase(deferred_, &channel);
  want_turns();
}

void DomainCore::resume_later(Server& server, Origin& origin) {
  behind_.emplace_back(&server, &origin);
  want_turns();
}

// ---- the order of locks ----

DomainCore::Opener DomainCore::this_thread() {
  static thread_local const char mark = 0;
  return &mark;
}

bool DomainCore::begin_lock() {
  const Opener me = this_thread();
  for (Locks& l : locks_)
    if (l.opener == me) return l.open++ > 0;
  locks_.push_back({me, 1});
  return false;
}

void DomainCore::end_lock(Opener opener) {
  std::erase_if(locks_, [&](Locks& l) { return l.opener == opener && --l.open == 0; });
}

void DomainCore::set_lone_lock(Channel& channel) {
  for (Locks& l : locks_)
    if (l.opener == this_thread()) l.lone = &channel;
}

void DomainCore::forget_lone_lock(const Channel& channel) {
  for (Locks& l : locks_)
    if (l.lone == &channel) l.lone = nullptr;
}

Channel* DomainCore::lone_lock(Opener opener) const {
  for (const Locks& l : locks_)
    if (l.opener == opener) return l.lone;
  return nullptr;
}

}  // namespace rmq::rma

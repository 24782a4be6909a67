// SPDX-License-Identifier: BSD-3-Clause
#include "adi/device.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <utility>

namespace rmq::adi {

Device::Device(DeviceOptions& options, Bootstrap& bootstrap) : Progress(options, bootstrap) {}

void Device::listen(TraceListener* listener) {
  if (!open_) return;
  trace_.listen(listener);
  // Who listens no more leaves it as it is: other reasons to be careful may have come meanwhile.
  if (trace_.full()) set_careful(true);
}

Result<std::unique_ptr<Device>> Device::MPID_Init(DeviceOptions options, Bootstrap& bootstrap) {
  std::unique_ptr<Device> d(new Device(options, bootstrap));
  if (auto ok = d->open(options); !ok) return tl::unexpected(ok.error());
  return d;
}

Result<void> Device::open(DeviceOptions& options) {
  start_records(options);
  set_careful(gate_.several() || trace_.full());
  if (auto ok = waiter_.configure(config_, job().machine_size, job().machine_cpus); !ok) return ok;
  if (simulation_) {
    doorbell_ = Doorbell::silent();
  } else {
    auto bell = Doorbell::open(job().job, rank_);
    if (!bell) return tl::unexpected(bell.error());
    doorbell_ = std::move(*bell);
  }
  gate_.set_doorbell(*doorbell_, rank_, counters_.unexpected);
  if (const int fd = bootstrap_.watch_fd(); fd >= 0) {
    if (auto ok = doorbell_->watch(fd); !ok) return ok;
  }
  // Messages to oneself need it, before there is anybody else.
  channels_.size_credit(config_.unexpected_max, config_.envelopes_max);
  if (options.connect) {
    if (auto ok = connect(); !ok) return ok;
  }
  open_ = true;
  return {};
}

// The trace, and the flight recorder.
void Device::start_records(DeviceOptions& options) {
  const TraceOwner owner{rank_, size(), job().host_of_rank[rank_], job().job,
                         simulation_ ? simulation_->now_ns : nullptr};
  if (!config_.trace.empty()) {
    // As when the disk fills up later: the program matters more than its trace.
    if (auto ok = trace_.open(config_.trace, owner, config_.trace_max); !ok)
      std::fprintf(stderr, "rmq: rank %d goes on without a trace: %s\n", rank_, ok.error().what.c_str());
  }
  if (trace_.full()) note_clock();
  if (job().flight_fd >= 0 && config_.flight > 0)
    trace_.fly(job().flight_fd, job().flight_at, owner, config_.flight, options.call);
}

Result<void> Device::connect() {
  if (connected_) return {};
  if (auto ok = open_methods(); !ok) return ok;
  connected_ = true;
  return {};
}

Result<void> Device::open_methods() {
  const methods::MethodContext context{config_, bootstrap_, sink_, trace_, *doorbell_};
  // A method is opened only when some rank needs it: a job on one host listens on no port.
  const int others = size() - 1;
  const auto reached = [&](Rank r) {
    return r == rank_ || std::ranges::any_of(methods_, [&](const auto& m) { return m->reaches(r); });
  };
  int most = 0;  // of the others, by one method
  for (const MethodMaker& make : makers_) {
    if (most == others) break;
    auto made = make(context);
    if (!made) return tl::unexpected(made.error());
    const methods::Method& m = **made;
    const int count = m.reached();
    bool needed = count > most;
    for (Rank r = 0; r < size() && !needed && count > 0; ++r) needed = m.reaches(r) && !reached(r);
    if (!needed) continue;
    most = std::max(most, count);
    if (auto* word = (*made)->attention()) gate_.set_attention(word);
    methods_.push_back(std::move(*made));
  }
  for (Rank r = 0; r < size() && most < others; ++r) {
    if (!reached(r))
      return fail(Errc::config,
                  fmt::format("rank {} cannot reach rank {}: RMQ_METHODS='{}' has no method between their "
                              "hosts (add tcp)",
                              rank_, r, config_.methods));
  }
  channels_.connect(static_cast<std::uint64_t>(config_.eager_max));
  return {};
}

// A full trace says how its clock stands to those of other hosts, where that can be known.
void Device::note_clock() {
  if (const auto offset = bootstrap_.clock_offset()) trace_.clock_offset(offset->offset_ns, offset->error_ns);
}

Result<void> Device::MPID_Finalize() {
  if (!open_) return {};
  for (const auto& m : methods_) m->ending();
  while (!all_sent()) MPID_Poll(true);
  for (const auto& party : parties()) party->lifeline().say_goodbye();
  for (const auto& m : methods_) m->close();
  for (const auto& party : parties()) doorbell_->unwatch(party->bell_fd());
  bootstrap_.on_ask(nullptr, nullptr);
  if (const int fd = bootstrap_.watch_fd(); fd >= 0) doorbell_->unwatch(fd);
  open_ = false;
  if (trace_.full()) note_clock();
  trace_.finish();
  return {};
}

void Device::MPID_Abort(int code, std::string_view why, Blame blame) {
  bootstrap_.abort(code, why, blame);
  ::_exit(code == 0 ? 1 : code & 0xff);
}

void Device::dismiss_party(Party& party) {
  const auto drained = [&] {
    return std::ranges::all_of(party.relays(), [](const Relay* r) { return r->drained(); }) &&
           std::ranges::none_of(party.all_numbers().met_here, [&](const auto& one) {
             const Channel* const c = channels_.find(one.first);
             return (c && c->waits()) || is_dying(one.first);
           });
  };
  while (!drained()) MPID_Poll(true);
  dismiss(party);
}

}  // namespace rmq::adi

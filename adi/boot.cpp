// Life of a device. Makes the methods and fills the table of packet handlers with the device's own.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "adi/device.hpp"
#include "adi/dispatch.hpp"
#include "methods/plugin.hpp"

namespace rmq::adi {
namespace {

std::vector<std::string> split(std::string_view list) {
  std::vector<std::string> parts;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    if (comma > 0) parts.emplace_back(list.substr(0, comma));
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return parts;
}

Result<std::unique_ptr<methods::Method>> open_method(const std::string& name, const methods::MethodContext& context) {
#if defined(RMQ_HAS_SHM)
  if (name == "shm") return shm::make_shm(context);
#endif
#if defined(RMQ_HAS_TCP)
  if (name == "tcp") return tcp::make_tcp(context);
#endif
#if defined(RMQ_DISPATCH_plugin)
  return methods::open_plugin(name, context);
#else
  return fail(Errc::config, fmt::format("RMQ_METHODS names '{}', which this build does not have; it has: {}", name,
                                        fmt::join(built_in_methods(), ", ")));
#endif
}

}  // namespace

std::vector<std::string> built_in_methods() {
  std::vector<std::string> names;
#if defined(RMQ_HAS_SHM)
  names.emplace_back("shm");
#endif
#if defined(RMQ_HAS_TCP)
  names.emplace_back("tcp");
#endif
  return names;
}

Device::Device(DeviceOptions options, Bootstrap& bootstrap)
    : gate_(trace_, options.threads),
      channels_(bootstrap.job().size, bootstrap.job().rank, methods_, pool_, trace_, gate_, counters_, sink_),
      rank_(bootstrap.job().rank),
      sleep_for_ever_(options.sleep_for_ever),
      minds_(options.minds),
      on_lost_(options.on_lost),
      on_parted_(options.on_parted),
      simulation_(options.simulation),
      config_(std::move(options.config)),
      bootstrap_(bootstrap) {
  sink_.device = this;
  sink_.on_packet.fill(&Device::on_unknown);
  const auto handle = [this](Kind kind, methods::Sink::OnPacket handler) {
    sink_.on_packet[static_cast<std::uint8_t>(kind)] = handler;
  };
  handle(Kind::SHORT, &Device::on_short);
  handle(Kind::SHORT_SYNC, &Device::on_short_sync);
  handle(Kind::SYNC_ACK, &Device::on_sync_ack);
  handle(Kind::REQUEST_SEND, &Device::on_request_send);
  handle(Kind::OK_TO_SEND, &Device::on_ok_to_send);
  handle(Kind::RNDV_DATA, &Device::on_rndv_data);
  handle(Kind::RNDV_DONE, &Device::on_rndv_done);
  handle(Kind::ANTI_SEND, &Device::on_anti_send);
  handle(Kind::ANTI_SEND_OK, &Device::on_anti_send_ok);
  handle(Kind::FLOW, &Device::on_flow);
  sink_.on_arriving = &Device::on_arriving;
  sink_.on_landed = &Device::on_landed;
  sink_.on_sent = &Device::on_sent;
  sink_.on_room = &Device::on_room;
  sink_.on_moved = &Device::on_moved;
  sink_.on_peer_lost = &Device::on_peer_lost;
}

void Device::listen(TraceListener* listener) {
  if (!open_) return;
  trace_.listen(listener);
  // Who listens no more leaves it as it is: other reasons to be careful may have come meanwhile.
  if (trace_.full()) set_careful(true);
}

Result<std::unique_ptr<Device>> Device::MPID_Init(DeviceOptions options, Bootstrap& bootstrap) {
  auto makers = std::move(options.methods);
  const std::uint32_t call = options.call;
  const bool connect = options.connect;
  std::unique_ptr<Device> d(new Device(std::move(options), bootstrap));
  d->makers_ = std::move(makers);
  const JobInfo& job = bootstrap.job();
  const TraceOwner owner{job.rank, job.size, job.host_of_rank[d->rank_], job.job,
                         d->simulation_ ? d->simulation_->now_ns : nullptr};
  if (!d->config_.trace.empty()) {
    // As when the disk fills up later: the program matters more than its trace.
    if (auto ok = d->trace_.open(d->config_.trace, owner, d->config_.trace_max); !ok)
      std::fprintf(stderr, "rmq: rank %d goes on without a trace: %s\n", job.rank, ok.error().what.c_str());
  }
  if (d->trace_.full()) d->note_clock();
  d->set_careful(d->gate_.several() || d->trace_.full());
  if (job.flight_fd >= 0 && d->config_.flight > 0) {
    d->trace_.fly(job.flight_fd, job.flight_at, owner, d->config_.flight, call);
  }
  if (auto ok = d->waiter_.configure(d->config_, job.machine_size, job.machine_cpus); !ok)
    return tl::unexpected(ok.error());
  if (d->simulation_) {
    d->doorbell_ = Doorbell::silent();
  } else {
    auto bell = Doorbell::open(job.job, job.rank);
    if (!bell) return tl::unexpected(bell.error());
    d->doorbell_ = std::move(*bell);
  }
  d->gate_.set_doorbell(*d->doorbell_, d->rank_, d->counters_.unexpected);
  if (const int fd = bootstrap.watch_fd(); fd >= 0) {
    if (auto ok = d->doorbell_->watch(fd); !ok) return tl::unexpected(ok.error());
  }
  if (!d->simulation_) d->report_memory_ = std::make_unique_for_overwrite<char[]>(max_report);
  // Messages to oneself need it, before there is anybody else.
  d->channels_.size_credit(d->config_.unexpected_max, d->config_.envelopes_max);
  bootstrap.on_ask(&Device::on_ask, d.get());
  if (connect) {
    if (auto ok = d->connect(); !ok) return tl::unexpected(ok.error());
  }
  d->open_ = true;
  return d;
}

Result<void> Device::connect() {
  if (connected_) return {};
  if (auto ok = open_methods(); !ok) return ok;
  connected_ = true;
  return {};
}

std::vector<MethodMaker> Device::method_makers() const {
  std::vector<MethodMaker> all = makers_;
  if (!all.empty()) return all;
  for (const std::string& name : split(config_.methods)) {
    all.push_back([name](const methods::MethodContext& c) { return open_method(name, c); });
  }
  return all;
}

Result<void> Device::open_methods() {
  const methods::MethodContext context{config_, bootstrap_, sink_, trace_, *doorbell_};
  const std::vector<MethodMaker> candidates = method_makers();
  // A method is opened only when some rank needs it: a job on one host listens on no port.
  const int others = size() - 1;
  const auto reached = [&](Rank r) {
    return r == rank_ || std::ranges::any_of(methods_, [&](const auto& m) { return m->reaches(r); });
  };
  int most = 0;  // of the others, by one method
  for (const MethodMaker& make : candidates) {
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

bool Device::all_sent() const {
  if (channels_.any_waits() || !waiting_gets_.empty()) return false;
  return std::all_of(methods_.begin(), methods_.end(), [](const auto& m) { return m->drained(); });
}

Result<void> Device::MPID_Finalize() {
  if (!open_) return {};
  for (const auto& m : methods_) m->ending();
  while (!all_sent()) MPID_Poll(true);
  for (const auto& party : parties_) party->lifeline().say_goodbye();
  for (const auto& m : methods_) m->close();
  for (const auto& party : parties_) doorbell_->unwatch(party->bell_->fd());
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

Device::~Device() = default;  // methods before parties

void* Device::MPID_Mem_alloc(std::size_t bytes) {
  for (const auto& m : methods_) {
    if (void* memory = m->mem_alloc(bytes)) return memory;
  }
  // Aligned as the methods' memory is: structures with their own cache lines are put there.
  if (bytes > PTRDIFF_MAX - kCacheLine) return nullptr;
  return std::aligned_alloc(kCacheLine, std::max<std::size_t>((bytes + kCacheLine - 1) / kCacheLine, 1) * kCacheLine);
}

void Device::MPID_Mem_free(void* memory) {
  for (const auto& m : methods_) {
    if (m->mem_free(memory)) return;
  }
  std::free(memory);
}

}  // namespace rmq::adi

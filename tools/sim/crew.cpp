// SPDX-License-Identifier: BSD-3-Clause
#include "tools/sim/crew.hpp"

#include <fmt/format.h>

#include "engine/object/datatypes.hpp"
#include "engine/object/failure.hpp"
#include "engine/object/runtime.hpp"

namespace rmq::sim {
namespace {

// Even, as communicators' are.
constexpr std::uint32_t kContext = 2;

void init_types() {
  static const bool made = (mpi::init_builtin_types(mpi::runtime()), true);
  static_cast<void>(made);
}

bool crowded(const Hosts& hosts, const methods::SimCost& cost) {
  return cost.cpus != 0 && (cost.pretended != 0 ? hosts.size() : hosts.count(0, hosts.size())) > cost.cpus;
}

}  // namespace

Crew::Crew(const CrewOptions& options)
    : hosts_(options.hosts),
      terms_(options.forced, {crowded(options.hosts, options.cost)}),
      world_(options.hosts, options.cost) {}

Crew::~Crew() {
  comms_.clear();  // before the devices whose memory they share
  domains_.clear();
  devices_.clear();  // before the world that their methods belong to
}

Result<std::unique_ptr<Crew>> Crew::open(const CrewOptions& options) {
  init_types();
  std::unique_ptr<Crew> crew(new Crew(options));
  crew->bootstraps_ = local_bootstraps(options.hosts);
  const int n = crew->size();
  const auto count = static_cast<std::size_t>(n);
  crew->simulations_.reserve(count);
  crew->seats_.reserve(count);
  crew->domains_.resize(count);
  for (Rank r = 0; r < n; ++r) {
    const Seat& seat = crew->seats_.emplace_back(Seat{&crew->world_, r});
    const auto combines = [](void* rank, std::uint64_t bytes) {
      auto& s = *static_cast<Seat*>(rank);
      s.world->spend(s.rank, static_cast<double>(bytes) * s.world->cost().combine_byte);
      return bytes <= s.world->cost().carry_max;
    };
    crew->simulations_.push_back({&crew->world_.clock(r), combines, const_cast<Seat*>(&seat)});
    adi::DeviceOptions device;
    device.config.wait = "sleep";
    device.config.rma_agent = false;  // one thread only
    device.config.trace = options.trace;
    device.simulation = &crew->simulations_.back();
    device.methods.push_back([&](const methods::MethodContext& c) -> Result<std::unique_ptr<methods::Method>> {
      return crew->world_.open(c);
    });
    auto made = adi::Device::MPID_Init(std::move(device), *crew->bootstraps_[static_cast<std::size_t>(r)]);
    if (!made) return tl::unexpected(made.error());
    crew->devices_.push_back(std::move(*made));

    mpi::Group& g = crew->groups_.emplace_back();
    g.world = Ranks::rule(0, n);
    g.rank = r;
    mpi::Comm& c = crew->comms_.emplace_back();
    c.device = crew->devices_.back().get();
    c.terms = &crew->terms_;
    c.context = c.recv_context = kContext;
    c.group = &g;
    c.rank = r;
  }
  return crew;
}

rma::Domain& Crew::domain(Rank r) {
  auto& d = domains_[static_cast<std::size_t>(r)];
  if (!d) d = std::make_unique<rma::Domain>(device(r));
  return *d;
}

const mpi::Datatype& Crew::bytes_type() const {
  return *mpi::find_datatype(MPI_BYTE);
}

Result<double> Crew::time(const std::function<void(Rank)>& program) {
  std::uint64_t start = 0, end = 0;
  for (Rank r = 0; r < size(); ++r) start = std::max(start, world_.clock(r));
  std::string trouble;
  const auto run = [&](Rank r) {
    try {
      program(r);
    } catch (const mpi::Failure& f) {
      if (trouble.empty()) trouble = fmt::format("rank {}: {}", r, f.what);
    } catch (const std::exception& e) {
      if (trouble.empty()) trouble = fmt::format("rank {}: {}", r, e.what());
    }
    end = std::max(end, world_.clock(r));
  };
  if (!world_.run(run, [&](Rank r) { device(r).MPID_Poll(true); })) {
    const auto stuck = world_.stuck();
    return fail(Errc::argument, fmt::format("{} ranks wait for what never comes, the first of them rank {}{}{}",
                                            stuck.size(), stuck.front(), trouble.empty() ? "" : "; ", trouble));
  }
  if (!trouble.empty()) return fail(Errc::argument, trouble);
  return static_cast<double>(end - start);
}

}  // namespace rmq::sim

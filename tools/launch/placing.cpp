// SPDX-License-Identifier: BSD-3-Clause
#include "tools/launch/placing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "start/bootstrap_env.hpp"
#include "tools/launch/words.hpp"

namespace rmq::launch {

using std::string_view;

void Placing::pretend(const std::string& parts) {
  split_ = parts;
}

Result<void> Placing::set_per_host(const std::string& value, string_view word) {
  per_host_ = parse_count(value, max_ranks);
  if (!per_host_) return wrong(fmt::format("{} {}: not a number of ranks", word, value));
  per_host_word_ = word;
  return {};
}

// "slot" fills one host after the other, "node" deals ranks out in turn, "ppr:N:node" places N on each host.
Result<void> Placing::map_by(const std::string& value, string_view word, Options& out) {
  const bool ranks_by = word.ends_with("rank-by");
  if (value == "node" && !ranks_by) {
    in_turn_ = true;
    placing_word_ = fmt::format("{} {}", word, value);
    return {};
  }
  if (value.starts_with("ppr:")) {
    const auto parts = split(value, ':');
    const auto count = parts.size() == 3 && parts[2] == "node" ? parse_count(parts[1], max_ranks) : std::nullopt;
    if (count) {
      per_host_ = count;
      per_host_word_ = fmt::format("{} {}", word, value);
      counts_ranks_here_ = false;
      return {};
    }
  } else if (!ranks_by && value == "slot") {
    return {};
  } else if (const auto part = part_of(value); part && !ranks_by) {
    out.binding.spread = part;
    placing_word_ = fmt::format("{} {}", word, value);
    return {};
  }
  out.notes.push_back(fmt::format("{} {} changes nothing: ranks of a host are placed in their order", word, value));
  return {};
}

Result<void> Placing::take_hosts(Result<HostList> list, Source source, string_view word, const std::string& value) {
  if (!list) return wrong(fmt::format("{} {}: {}", word, value, list.error().what));
  // Other launchers choose from the file what is listed, or ignore one of the two.
  if (!of_section_.empty() && source != source_)
    return wrong(fmt::format("{} and {} {} both name hosts; name all in one of them", hosts_word_, word, value));
  source_ = source;
  for (HostSlots& host : *list) add_host(of_section_, std::move(host));
  hosts_word_ = fmt::format("{} {}", word, value);
  return {};
}

// Hostfiles that other launchers find by the environment; else of several nodes: their names, unless all ranks are
// wanted here.
Result<HostList> Placing::find_allocation(const Defaults& defaults, Options& out) {
  Result<HostList> list = HostList{};
  if (!split_.empty()) return list;
  const char* const file = defaults.hydra_file != nullptr ? defaults.hydra_file : defaults.openmpi_file;
  if (file != nullptr) {
    list = read_host_file(file, out.notes);
    hosts_word_ = defaults.hydra_file != nullptr ? "HYDRA_HOST_FILE" : "OMPI_MCA_orte_default_hostfile";
  } else if (defaults.slurm_list != nullptr && defaults.slurm_nodes != nullptr &&
             string_view(defaults.slurm_nodes) != "1") {
    list = read_slurm(defaults.slurm_list, defaults.slurm_per_node == nullptr ? "" : defaults.slurm_per_node);
    hosts_word_ = "the Slurm allocation";
  } else if (defaults.pbs_file != nullptr) {
    list = read_host_file(defaults.pbs_file, out.notes);
    hosts_word_ = "PBS_NODEFILE";
  }
  if (!list) return wrong(fmt::format("{}: {}", hosts_word_, list.error().what));
  if (out.launcher.empty() && defaults.slurm_list != nullptr && !list->empty())
    out.launcher = "srun --nodes=1 --ntasks=1 --overlap --unbuffered --nodelist={}";
  return list;
}

// A section without hosts has those of the first one, or of the allocation where none names any. Sections with the same
// hosts fill them together.
Result<void> Placing::find_pools(const Defaults& defaults, Options& out) {
  if (std::ranges::all_of(named_, &HostList::empty)) {
    auto allocated = find_allocation(defaults, out);
    if (!allocated) return tl::make_unexpected(allocated.error());
    if (allocated->empty()) return {};
    named_.front() = *std::move(allocated);
  }
  const HostList common = named_.front().empty() ? HostList{{boot::host_name(), 1}} : named_.front();
  for (const HostList& named : named_) {
    const HostList& hosts = named.empty() ? common : named;
    const auto same = std::ranges::find(pools_, hosts);
    pool_.push_back(static_cast<std::size_t>(same - pools_.begin()));
    if (same == pools_.end()) pools_.push_back(hosts);
  }
  if (per_host_)
    for (HostList& pool : pools_)
      for (HostSlots& host : pool) host.slots = *per_host_;
  return {};
}

// Where there is no -n: what other launchers take from the environment, or from the number for each host.
Result<void> Placing::count_ranks(const Defaults& defaults, Options& out) {
  if (auto good = find_pools(defaults, out); !good) return good;
  if (!pools_.empty()) {
    for (std::size_t section = 0; section < out.apps.size(); ++section) {
      App& app = out.apps[section];
      const bool alone = std::ranges::count(pool_, pool_[section]) == 1;
      if (app.ranks_given || named_[section].empty() || !alone) continue;
      std::size_t ranks = 0;
      for (const HostSlots& host : pools_[pool_[section]]) ranks += static_cast<std::size_t>(host.slots);
      app.ranks = static_cast<int>(std::min<std::size_t>(ranks, max_ranks + 1));
    }
    return {};
  }
  App& app = out.apps.front();
  if (out.apps.size() > 1 || app.ranks_given) return {};
  if (per_host_ && !counts_ranks_here_)
    return wrong(fmt::format("{} does not say how many ranks to start here; add -n N", per_host_word_));
  if (per_host_) {
    app.ranks = *per_host_;
    return {};
  }
  if (!split_.empty() || defaults.slurm_tasks == nullptr) return {};
  const auto tasks = parse_count(defaults.slurm_tasks, max_ranks);
  if (!tasks) return {};
  if (defaults.slurm_nodes != nullptr && string_view(defaults.slurm_nodes) != "1")
    return wrong(fmt::format(
        "this is a Slurm allocation of {} nodes, but SLURM_JOB_NODELIST, which would name them, is not set; "
        "name them with --hosts, or say with -n N how many ranks are to run here",
        defaults.slurm_nodes));
  app.ranks = *tasks;
  if (*tasks > 1) out.notes.push_back(fmt::format("starts {} ranks, as SLURM_NTASKS says (-n N: N of them)", *tasks));
  return {};
}

Result<void> Placing::place_on_hosts(int size, Options& out) {
  if (!split_.empty()) return wrong(fmt::format("--host-split pretends hosts, and {} names real ones", hosts_word_));
  if (out.pmi)
    return wrong(fmt::format("--pmi is for jobs on one machine (--host-split pretends hosts), and {} names others",
                             hosts_word_));
  HostList all;
  std::vector<std::vector<int>> places;  // by pool: the place in `all` of each of its ranks
  for (std::size_t pool = 0; pool < pools_.size(); ++pool) {
    int wanted = 0;
    for (std::size_t section = 0; section < out.apps.size(); ++section)
      if (pool_[section] == pool) wanted += out.apps[section].ranks;
    std::vector<int>& of_pool = places.emplace_back(place_ranks(pools_[pool], wanted, in_turn_));
    if (static_cast<int>(of_pool.size()) < wanted)
      return wrong(fmt::format("{} ranks are wanted, and max_slots allows {} on these hosts", wanted, of_pool.size()));
    std::vector<int> number;
    for (const HostSlots& host : pools_[pool]) {
      add_host(all, host);
      number.push_back(static_cast<int>(std::ranges::find(all, host.name, &HostSlots::name) - all.begin()));
    }
    for (int& place : of_pool) place = number[static_cast<std::size_t>(place)];
  }
  // Hosts are numbered as they are used. Those without a rank need no agent, until something is spawned there.
  std::vector<int> number(all.size(), -1);
  std::vector<std::size_t> used(pools_.size(), 0);
  out.host_of_rank.reserve(static_cast<std::size_t>(size));
  const auto enlist = [&](std::size_t place) {
    number[place] = static_cast<int>(out.universe.size());
    out.universe.push_back({all[place].name, all[place].slots});
  };
  for (std::size_t section = 0; section < out.apps.size(); ++section)
    for (int i = 0; i < out.apps[section].ranks; ++i) {
      const std::size_t pool = pool_[section];
      const auto place = static_cast<std::size_t>(places[pool][used[pool]++]);
      if (number[place] < 0) enlist(place);
      out.host_of_rank.push_back(number[place]);
    }
  for (const HostSlots& host : out.universe) out.hosts.push_back(host.name);
  for (std::size_t place = 0; place < all.size(); ++place)
    if (number[place] < 0) enlist(place);
  if (out.universe_size == 0)
    for (const HostSlots& host : out.universe) out.universe_size += std::min(host.slots, max_ranks - out.universe_size);
  return {};
}

Result<void> Placing::place(int size, Options& out) {
  if (out.binding.spread && !out.binding.to)
    out.notes.push_back(fmt::format("{} changes nothing without --bind", placing_word_));
  if (!pools_.empty()) return place_on_hosts(size, out);
  if (per_host_ && *per_host_ < size)
    out.notes.push_back(
        fmt::format("{} {} changes nothing: all {} ranks run on this machine", per_host_word_, *per_host_, size));
  if (in_turn_ && split_.empty())
    out.notes.push_back(fmt::format("{} changes nothing: all ranks run on this machine", placing_word_));
  if (split_.empty()) {
    out.host_of_rank.assign(static_cast<std::size_t>(size), 0);
    return {};
  }
  int host = 0;
  for (const string_view part : split(split_, ',')) {
    const auto count = parse_count(part, max_ranks);
    if (!count) return wrong(fmt::format("--host-split {}: '{}' is not a number of ranks", split_, part));
    out.host_of_rank.insert(out.host_of_rank.end(), static_cast<std::size_t>(*count), host++);
  }
  if (out.host_of_rank.size() != static_cast<std::size_t>(size))
    return wrong(fmt::format("--host-split {} places {} ranks, but there are {}; the parts must add up to -n", split_,
                             out.host_of_rank.size(), size));
  return {};
}

}  // namespace rmq::launch

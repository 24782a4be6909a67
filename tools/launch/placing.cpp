#include "tools/launch/placing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

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

Result<void> Placing::take_hosts(Result<HostList> list, string_view word, const std::string& value) {
  if (!list) return wrong(fmt::format("{} {}: {}", word, value, list.error().what));
  for (HostSlots& host : *list) add_host(hosts_, std::move(host));
  hosts_word_ = fmt::format("{} {}", word, value);
  return {};
}

// Of several nodes: their names, unless the command line has its own, or wants them all here.
Result<void> Placing::find_allocation(const Defaults& defaults, Options& out) {
  if (!hosts_.empty() || !split_.empty()) return {};
  Result<HostList> list = HostList{};
  if (defaults.slurm_list != nullptr && defaults.slurm_nodes != nullptr && string_view(defaults.slurm_nodes) != "1") {
    list = read_slurm(defaults.slurm_list, defaults.slurm_per_node == nullptr ? "" : defaults.slurm_per_node);
    hosts_word_ = "the Slurm allocation";
  } else if (defaults.pbs_file != nullptr) {
    list = read_host_file(defaults.pbs_file);
    hosts_word_ = "PBS_NODEFILE";
  }
  if (!list) return wrong(fmt::format("{}: {}", hosts_word_, list.error().what));
  hosts_ = *std::move(list);
  if (out.launcher.empty() && defaults.slurm_list != nullptr && !hosts_.empty())
    out.launcher = "srun --nodes=1 --ntasks=1 --overlap --unbuffered --nodelist={}";
  return {};
}

// Of one program without -n: what other launchers take from the environment, or from the number for each host.
Result<void> Placing::count_ranks(const Defaults& defaults, Options& out) {
  if (auto good = find_allocation(defaults, out); !good) return good;
  App& app = out.apps.front();
  if (out.apps.size() > 1 || app.ranks_given) return {};
  if (!hosts_.empty()) {
    std::size_t ranks = 0;
    for (const HostSlots& host : hosts_) ranks += static_cast<std::size_t>(per_host_.value_or(host.slots));
    app.ranks = static_cast<int>(std::min<std::size_t>(ranks, max_ranks + 1));
    return {};
  }
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
  if (out.ft || out.pmi)
    return wrong(fmt::format("{} is for jobs on one machine (--host-split pretends hosts), and {} names others",
                             out.ft ? "--ft" : "--pmi", hosts_word_));
  if (per_host_)
    for (HostSlots& host : hosts_) host.slots = *per_host_;
  out.host_of_rank = place_ranks(hosts_, size, in_turn_);
  if (out.universe_size == 0)
    for (const HostSlots& host : hosts_) out.universe_size += std::min(host.slots, max_ranks - out.universe_size);
  out.universe = hosts_;
  // Hosts without a rank need no agent, until something is spawned there.
  const int used = 1 + *std::max_element(out.host_of_rank.begin(), out.host_of_rank.end());
  for (int host = 0; host < used; ++host) out.hosts.push_back(hosts_[static_cast<std::size_t>(host)].name);
  return {};
}

Result<void> Placing::place(int size, Options& out) {
  if (out.binding.spread && !out.binding.to)
    out.notes.push_back(fmt::format("{} changes nothing without --bind", placing_word_));
  if (!hosts_.empty()) return place_on_hosts(size, out);
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

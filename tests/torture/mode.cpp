// SPDX-License-Identifier: BSD-3-Clause
#include "mode.hpp"

#include <algorithm>

#include "chance.hpp"

namespace torture {
namespace {

struct Setting {
  const char* name;
  std::vector<const char*> values;
  int one_in;  // how often
};

const std::vector<Setting>& settings() {
  static const std::vector<Setting> all = {
      {"RMQ_SHM_HEAP", {"0", "4K", "64M"}, 4},
      {"RMQ_SHM_CELLS", {"512", "1K", "4K"}, 4},
      {"RMQ_SHM_RING", {"4K", "16K", "64K"}, 4},
      {"RMQ_SHM_SINGLE_COPY", {"0"}, 3},
      {"RMQ_SHM_SEGMENT", {"posix", "sysv"}, 4},
      {"RMQ_SHM_RESERVE", {"1"}, 4},
      {"RMQ_EAGER_MAX", {"64", "1K", "256K"}, 4},
      {"RMQ_UNEXPECTED_MAX", {"64K", "1M"}, 4},
      {"RMQ_ENVELOPES_MAX", {"64", "1024"}, 6},
      {"RMQ_TCP_LINKS", {"4"}, 4},
      {"RMQ_TCP_BUFFER", {"4K"}, 6},
      {"RMQ_GET_MODE", {"0"}, 4},
      {"RMQ_DEST_OPS", {"0"}, 4},
      {"RMQ_WAIT", {"sleep", "yield"}, 3},
      {"RMQ_RMA_AGENT", {"0"}, 4},
      {"RMQ_COLL",
       {"allreduce=ring,bcast=chain,alltoall=bruck", "allreduce=tree,bcast=binomial,alltoall=pairwise",
        "allreduce=doubling,bcast=bruck,allgather=ring", "allreduce=halving,bcast=scatter,allgather=bruck",
        "barrier=tree,reduce=flat,gather=linear,scatter=linear", "barrier=dissemination,reduce=binomial,bcast=flat",
        "reduce=halving,reduce_scatter=halving,allgather=doubling,bcast=chain",
        "reduce_scatter=pairwise,bcast=trees,allreduce=flat"},
       2},
      {"RMQ_FLIGHT", {"0"}, 6},
      {"RMQ_RMA_TYPES", {"1", "2"}, 6},
      {"RMQ_RMA_QUEUE", {"0", "1K"}, 6},
      {"RMQ_SPIN", {"0"}, 6},
      {"TORTURE_THREADS", {"1"}, 4},
      {"TORTURE_CUTS", {"2000", "20000"}, 5},
      {"TORTURE_STOPS", {"10", "100"}, 8},
  };
  return all;
}

std::string split(Chance& chance, int ranks) {
  std::string list;
  for (int left = ranks; left > 0;) {
    const int here = 1 + chance.below(left);
    list += (list.empty() ? "" : ",") + std::to_string(here);
    left -= here;
  }
  return list;
}

}  // namespace

Mode draw_mode(unsigned long seed, bool deaths) {
  Chance chance(seed ^ 0x6D6F6465);
  Mode mode;
  mode.ranks = chance.one_in(20) ? chance.of({16, 17, 17, 18, 33, 130}) : 1 + chance.below(chance.one_in(3) ? 9 : 4);
  if (deaths) mode.ranks = std::min(mode.ranks + 3, 17);
  // What one host tells another of deaths, and ranks of one host tell each other, is where most faults have been.
  switch (deaths && chance.one_in(3) ? 2 : chance.below(4)) {
    case 0:
      mode.settings.push_back("--method shm");
      break;
    case 1:
      mode.settings.push_back("--method tcp");
      break;
    case 2:
      mode.settings.push_back("--host-split " + split(chance, mode.ranks));
      break;
    default:
      break;
  }
  if (chance.one_in(5)) mode.settings.push_back("--ft");
  for (const Setting& setting : settings())
    if (chance.one_in(setting.one_in))
      mode.settings.push_back(
          std::string(setting.name) + "=" +
          setting.values[static_cast<std::size_t>(chance.below(static_cast<int>(setting.values.size())))]);
  // So many ranks with four connections each make a new one for nearly every operation: that takes minutes.
  if (mode.ranks > 33)
    std::erase_if(mode.settings, [](const std::string& one) { return one.starts_with("RMQ_TCP_LINKS"); });
  mode.trace = mode.ranks <= 9 && chance.one_in(8);
  return mode;
}

}  // namespace torture

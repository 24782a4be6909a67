// SPDX-License-Identifier: BSD-3-Clause
// Chapter 7.3: groups.
#include <fmt/format.h>

#include <tuple>

#include "engine/comm/comms.hpp"
#include "mpi/define.hpp"

namespace rmq::mpi {
namespace {

/// The ranks of `g` that a list or ranges name, each checked and at most once.
std::vector<bool> chosen(const Group& g, const std::vector<int>& ranks) {
  std::vector<bool> in(static_cast<std::size_t>(g.size()));
  for (const int r : ranks) {
    if (r < 0 || r >= g.size()) {
      fail_call(MPI_ERR_RANK, fmt::format("invalid rank {} (argument ranks; allowed 0..{})", r, g.size() - 1));
    }
    if (in[static_cast<std::size_t>(r)]) fail_call(MPI_ERR_RANK, fmt::format("rank {} is named twice", r));
    in[static_cast<std::size_t>(r)] = true;
  }
  return in;
}

std::vector<int> list_of(const int* ranks, int n) {
  count_arg(n, "n");
  return n > 0 ? std::vector<int>(out(ranks, "ranks"), ranks + n) : std::vector<int>{};
}

/// Ranks of a group of `size` members; of a range that leaves it, as far as its first rank outside, which chosen()
/// tells of.
std::vector<int> list_of(int ranges[][3], int n, int size) {
  count_arg(n, "n");
  if (n > 0) out(ranges, "ranges");
  std::vector<int> ranks;
  for (int i = 0; i < n; ++i) {
    const auto [first, last, stride] = std::tie(ranges[i][0], ranges[i][1], ranges[i][2]);
    if (stride == 0) fail_call(MPI_ERR_ARG, fmt::format("the stride of range {} is 0 (argument ranges)", i));
    if ((stride > 0 && first > last) || (stride < 0 && first < last)) {
      fail_call(MPI_ERR_ARG,
                fmt::format("range {} has no members: {} to {} by {} (argument ranges)", i, first, last, stride));
    }
    for (long r = first; stride > 0 ? r <= last : r >= last; r += stride) {
      ranks.push_back(static_cast<int>(r));
      if (r < 0 || r >= size) return ranks;  // it may have billions more
    }
  }
  return ranks;
}

MPI_Group include(const Group& g, const std::vector<int>& ranks) {
  chosen(g, ranks);
  std::vector<Rank> world;
  for (const int r : ranks) world.push_back(g.world[r]);
  return new_group(std::move(world), g.session)->handle;
}

/// Members of `g` whose place fulfils the condition, in their order.
template <class Keep>
std::vector<Rank> filter(const Group& g, Keep&& keep) {
  std::vector<Rank> world;
  for (int i = 0; i < g.size(); ++i) {
    if (keep(i)) world.push_back(g.world[i]);
  }
  return world;
}

MPI_Group exclude(const Group& g, const std::vector<int>& ranks) {
  const std::vector<bool> out_of_it = chosen(g, ranks);
  return new_group(filter(g, [&](int i) { return !out_of_it[static_cast<std::size_t>(i)]; }), g.session)->handle;
}

}  // namespace

RMQ_MPI(int, Group_size, (MPI_Group group, int* size)) {
  return enter([&] { *out(size, "size") = group_arg(group).size(); });
}

RMQ_MPI(int, Group_rank, (MPI_Group group, int* rank)) {
  return enter([&] { *out(rank, "rank") = group_arg(group).rank; });
}

RMQ_MPI(int, Group_translate_ranks, (MPI_Group group1, int n, const int ranks1[], MPI_Group group2, int ranks2[])) {
  return enter([&] {
    const Group& from = group_arg(group1, "group1");
    const Group& to = group_arg(group2, "group2");
    count_arg(n, "n");
    for (int i = 0; i < n; ++i) {
      const int r = out(ranks1, "ranks1")[i];
      if (r != MPI_PROC_NULL && (r < 0 || r >= from.size())) {
        fail_call(MPI_ERR_RANK, fmt::format("invalid rank {} (argument ranks1; allowed 0..{} and MPI_PROC_NULL)", r,
                                            from.size() - 1));
      }
      out(ranks2, "ranks2")[i] = r == MPI_PROC_NULL ? r : to.place_of(from.world[r]);
    }
  });
}

RMQ_MPI(int, Group_compare, (MPI_Group group1, MPI_Group group2, int* result)) {
  return enter([&] {
    const Group& a = group_arg(group1, "group1");
    const Group& b = group_arg(group2, "group2");
    *out(result, "result") = compare(a, b);
  });
}

RMQ_MPI(int, Group_union, (MPI_Group group1, MPI_Group group2, MPI_Group* newgroup)) {
  return enter([&] {
    const Group& a = group_arg(group1, "group1");
    const Group& b = group_arg(group2, "group2");
    std::vector<Rank> world = a.world.list();
    const auto rest = filter(b, [&](int i) { return a.place_of(b.world[i]) == MPI_UNDEFINED; });
    world.insert(world.end(), rest.begin(), rest.end());
    *out(newgroup, "newgroup") = new_group(std::move(world), a.session)->handle;
  });
}

RMQ_MPI(int, Group_intersection, (MPI_Group group1, MPI_Group group2, MPI_Group* newgroup)) {
  return enter([&] {
    const Group& a = group_arg(group1, "group1");
    const Group& b = group_arg(group2, "group2");
    const auto both = filter(a, [&](int i) { return b.place_of(a.world[i]) != MPI_UNDEFINED; });
    *out(newgroup, "newgroup") = new_group(both, a.session)->handle;
  });
}

RMQ_MPI(int, Group_difference, (MPI_Group group1, MPI_Group group2, MPI_Group* newgroup)) {
  return enter([&] {
    const Group& a = group_arg(group1, "group1");
    const Group& b = group_arg(group2, "group2");
    const auto only_a = filter(a, [&](int i) { return b.place_of(a.world[i]) == MPI_UNDEFINED; });
    *out(newgroup, "newgroup") = new_group(only_a, a.session)->handle;
  });
}

RMQ_MPI(int, Group_incl, (MPI_Group group, int n, const int ranks[], MPI_Group* newgroup)) {
  return enter([&] { *out(newgroup, "newgroup") = include(group_arg(group), list_of(ranks, n)); });
}

RMQ_MPI(int, Group_excl, (MPI_Group group, int n, const int ranks[], MPI_Group* newgroup)) {
  return enter([&] { *out(newgroup, "newgroup") = exclude(group_arg(group), list_of(ranks, n)); });
}

RMQ_MPI(int, Group_range_incl, (MPI_Group group, int n, int ranges[][3], MPI_Group* newgroup)) {
  return enter([&] {
    const Group& g = group_arg(group);
    *out(newgroup, "newgroup") = include(g, list_of(ranges, n, g.size()));
  });
}

RMQ_MPI(int, Group_range_excl, (MPI_Group group, int n, int ranges[][3], MPI_Group* newgroup)) {
  return enter([&] {
    const Group& g = group_arg(group);
    *out(newgroup, "newgroup") = exclude(g, list_of(ranges, n, g.size()));
  });
}

RMQ_MPI(int, Group_free, (MPI_Group * group)) {
  return enter([&] {
    Group& g = group_arg(*out(group, "group"));
    release(&g);
    *group = MPI_GROUP_NULL;
  });
}

}  // namespace rmq::mpi

// SPDX-License-Identifier: BSD-3-Clause
// Prefix reductions: rank i gets x(0) op … op x(i), exclusive without x(i).
//
// Doubling distances: W. D. Hillis, G. L. Steele, "Data parallel algorithms", 1986. After the round at distance d a
// rank holds the combination of the 2 d operands that end with its own. ceil(log2 p) rounds of one vector each: log2(p)
// (a + n b + n c). What arrives always comes from lower ranks and stands on the left, so any operation will do, and the
// device may combine it
// (*join*).
#include "engine/coll/combine.hpp"

namespace rmq::mpi::coll {

int scan(Comm& comm, const void* in, void* out, const Reduction& r) {
  Steps s(comm);
  if (!is_in_place(in)) s.note(copy_local(buffer_of(r, out), buffer_of(r, in)));
  if (s.size() == 1) return s.error();
  const bool joins = join_pays(r);
  Vectors spare(r.count, r.type);
  for (int distance = 1; distance < s.size(); distance *= 2) {
    const int to = s.rank() + distance, from = s.rank() - distance;
    Request* sending = to < s.size() ? s.start_send(to, buffer_of(r, out)) : nullptr;
    if (from >= 0 && !sending && joins) {
      s.finish_recv(s.start_join(from, buffer_of(r, out), r.op.builtin));
      continue;
    }
    if (from >= 0) s.recv(from, spare.buffer());
    if (sending) s.finish_send(sending);
    if (from >= 0) combine(r, spare.origin(), out);
  }
  return s.error();
}

int exscan(Comm& comm, const void* in, void* out, const Reduction& r) {
  Steps s(comm);
  if (s.size() == 1) return MPI_SUCCESS;
  Vectors memory(r.count, r.type, 2);
  const Buffer result = buffer_of(r, out);
  const Buffer partial = memory.buffer(0), spare = memory.buffer(1);  // partial: my own operand included
  s.note(copy_local(partial, buffer_of(r, is_in_place(in) ? out : in)));
  for (int distance = 1; distance < s.size(); distance *= 2) {
    const int to = s.rank() + distance, from = s.rank() - distance;
    Request* sending = to < s.size() ? s.start_send(to, partial) : nullptr;
    if (from >= 0) s.recv(from, spare);
    if (sending) s.finish_send(sending);
    if (from < 0) continue;
    if (distance == 1) {
      s.note(copy_local(result, spare));
    } else {
      combine(r, spare.data, out);
    }
    if (to + distance < s.size()) combine(r, spare.data, partial.data);  // the next round sends it
  }
  return s.error();
}

}  // namespace rmq::mpi::coll

// SPDX-License-Identifier: BSD-3-Clause
#include "engine/coll/shared.hpp"

#include <algorithm>
#include <vector>

#include "engine/object/deaths.hpp"

namespace rmq::mpi::coll {
namespace {

// Stages that could go by shared memory before there is some: most communicators never come so far.
constexpr std::uint8_t kStagesBefore = 2;

bool is_forced(const Choice& choice, Collective what) {
  return std::ranges::any_of(choice.forced(),
                             [&](const Rule& r) { return r.what == what && r.algorithm == Algorithm::board; });
}

void make_shared_of(Steps& s) {
  Comm& comm = s.comm();
  const Levels& l = levels_of(comm);
  const auto share = [&](Steps& tell, Steps& agree) {
    auto memory = HostMemory::share(tell, agree, ReleaseGather::bytes(s.size()),
                                    [&](void* at) { ReleaseGather::make(at, s.size()); });
    s.note(agree.error());
    if (memory) comm.shared = std::make_shared<Shared>(std::move(memory), comm, l.mine, l.me);
  };
  if (s.is_part()) return share(s, s);
  Steps tell(comm), agree(comm);
  share(tell, agree);
}

}  // namespace

Shared* shared_of(Steps& s, Collective what) {
  Comm& comm = s.comm();
  // Several tasks may be under way, and a task does not poll. Where ranks may die: meeting_of().
  if (s.size() == 1 || s.borrows_tag() || Task::current() || ft::may_fail()) return nullptr;
  const Levels& l = levels_of(comm);
  if (!s.is_part(l.mine) && (s.is_part() || l.mine.size() != s.size())) return nullptr;
  if (comm.calls_before_shared <= kStagesBefore) {
    const bool now = comm.calls_before_shared == kStagesBefore || is_forced(s.terms().choice(), what);
    comm.calls_before_shared = now ? kStagesBefore + 1 : comm.calls_before_shared + 1;
    if (now) make_shared_of(s);
  }
  return comm.shared.get();
}

// ---- rounds ----

struct Shared::Waiting {
  const Shared& of;
  int speaker;  // that is to answer; kNobody: all are to come
};

// Rounds of several sorts of memory must not meet in a trace.
std::uint64_t Shared::trace_round(bool release) const {
  return std::uint64_t{1} << 32 | std::uint64_t{rounds_.round()} << 1 | (release ? 1 : 0);
}

// False, noted: a member is lost. Such a member does not come any more, and those that wait find out for themselves.
template <class Open>
bool Shared::wait(Steps& s, const Open& open, int speaker) {
  const auto tell = [](const void* object, ReportText& to) {
    const auto& w = *static_cast<const Waiting*>(object);
    for (int i = 0; i < w.of.ranks_.size() && to.has_room(); ++i) {
      const bool awaited = w.speaker >= 0 ? i == w.speaker : i != w.of.me_ && !w.of.rounds_.has_come(i);
      if (awaited) tell_awaited(w.of.comm_, w.of.ranks_[i], to);
    }
  };
  const Waiting waiting{*this, speaker};
  const Rank lost = await_stores(comm_, open, [&] { return lost_among(comm_, ranks_); }, {tell, &waiting});
  if (lost == kNoRank) return true;
  s.note(lost_class(lost));
  return false;
}

// False: the memory is of no use any more. Who has lost a member has left a round behind that others may be in. Who
// knows of a revocation stores nothing more, as it sends nothing more: it could not say why it has nothing to bring.
bool Shared::begin(Steps& s, bool speaks) {
  ft::check_not_revoked(comm_);
  rounds_.begin();
  if (const Rank lost = lost_among(comm_, ranks_); lost != kNoRank) {
    s.note(lost_class(lost));
    return false;
  }
  if (rounds_.has_room(speaks)) [[likely]]
    return true;
  rounds_.wait_for_room();
  const bool good = wait(
      s, [&] { return rounds_.has_room(speaks); }, ReleaseGather::kNobody);
  rounds_.end_wait_for_room();
  return good;
}

void Shared::come(std::uint64_t bytes, int speaker) {
  const bool wanted = rounds_.come(collective_kind(comm_), bytes, speaker);
  if (speaker >= 0 && speaker != me_) comm_.device->wake(comm_.world_of(ranks_[speaker]));
  if (!wanted) return;
  for (int i = 0; i < ranks_.size(); ++i)
    if (i != me_) comm_.device->wake(comm_.world_of(ranks_[i]));
}

// To a gather, elsewhere than at its speaker.
void Shared::bring(Steps& s, const Buffer& data, int speaker) {
  const std::uint64_t bytes = s.leaving(bytes_of(data));
  std::byte* const place = rounds_.place_for(bytes);
  if (bytes > 0 && s.error() == MPI_SUCCESS) pack_at(place, data);
  comm_.device->trace().event(Event::meet, 0, first(), comm_.context, trace_round(false));
  come(bytes, speaker);
  comm_.device->trace().event(Event::met, 0, first(), comm_.context, trace_round(false));
}

// At the speaker of a gather.
bool Shared::wait_for_all(Steps& s) {
  comm_.device->trace().event(Event::meet, 0, first(), comm_.context, trace_round(false));
  come(0, me_);
  // A program that mixes collectives up waits, as it does with messages, and is told why.
  const auto same_kind = [&] {
    for (int i = 0; i < ranks_.size(); ++i)
      if (i != me_ && rounds_.brought(i).kind != collective_kind(comm_)) return false;
    return true;
  };
  const bool good = wait(
      s, [&] { return rounds_.have_all_come() && same_kind(); }, ReleaseGather::kNobody);
  comm_.device->trace().event(Event::met, 0, first(), comm_.context, trace_round(false));
  return good;
}

// ---- stages ----

void Shared::bcast(Steps& s, const Buffer& data, int root) {
  const bool speaks = me_ == root;
  if (!begin(s, speaks)) return;
  come(0, ReleaseGather::kNobody);
  const std::uint64_t bytes = bytes_of(data);
  if (speaks) {
    const std::uint64_t leaving = s.leaving(bytes);
    std::byte* const place = rounds_.answer_for(leaving);
    if (leaving > 0 && s.error() == MPI_SUCCESS) pack_at(place, data);
    comm_.device->trace().event(Event::meet, 0, first(), comm_.context, trace_round(true));
    rounds_.answer(collective_kind(comm_), leaving);
    for (int i = 0; i < ranks_.size(); ++i)
      if (i != me_) comm_.device->wake(comm_.world_of(ranks_[i]));
    comm_.device->trace().event(Event::met, 0, first(), comm_.context, trace_round(true));
    return;
  }
  const bool waits = !rounds_.is_answered();
  if (waits) comm_.device->trace().event(Event::meet, 0, first(), comm_.context, trace_round(true));
  const bool good = wait(
      s, [&] { return rounds_.is_answered() && rounds_.answered().kind == collective_kind(comm_); }, root);
  if (waits) comm_.device->trace().event(Event::met, 0, first(), comm_.context, trace_round(true));
  if (!good) return;
  rounds_.heard(root);
  const ReleaseGather::Said answer = rounds_.answered();
  if (answer.bytes != bytes) return s.note_length(answer.bytes);
  if (bytes > 0) unpack_at(data, answer.data);
}

void Shared::gather(Steps& s, const Buffer& send, const Blocks& recv, int root) {
  if (!begin(s, false)) return;
  if (me_ != root) return bring(s, send, root);
  if (!is_in_place(send.data)) s.note(copy_local(recv[root], send));
  if (!wait_for_all(s)) return;
  for (int i = 0; i < ranks_.size(); ++i) {
    if (i == me_) continue;
    const ReleaseGather::Said block = rounds_.brought(i);
    if (block.bytes != recv.bytes(i))
      s.note_length(block.bytes);
    else if (block.bytes > 0)
      unpack_at(recv[i], block.data);
  }
}

// What members have brought is spoilt: nobody else reads it.
void Shared::reduce(Steps& s, const Reduction& r, const void* in, void* out, int root, Grouping grouping) {
  const std::uint64_t bytes = bytes_of(r);
  std::vector<Buffer> operands;
  if (me_ == root) operands.reserve(static_cast<std::size_t>(ranks_.size()));  // before anybody waits for this rank
  if (!begin(s, false)) return;
  if (me_ != root) return bring(s, buffer_of(r, in), root);
  s.note(copy_local(buffer_of(r, out), buffer_of(r, in)));
  if (!wait_for_all(s)) return;
  const int p = ranks_.size(), top = top_of(r, root, grouping);
  for (int i = 0; i < p; ++i) {
    const int member = (top + i) % p;
    if (member == me_) {
      operands.push_back(buffer_of(r, out));
      continue;
    }
    const ReleaseGather::Said brought = rounds_.brought(member);
    if (brought.bytes != bytes) s.note_length(brought.bytes);
    operands.push_back(buffer_of(r, brought.data));
  }
  if (s.error() == MPI_SUCCESS && bytes > 0)
    s.note(copy_local(buffer_of(r, out), combine_pairs(r, operands, grouping)));
}

}  // namespace rmq::mpi::coll

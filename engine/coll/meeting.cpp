// SPDX-License-Identifier: BSD-3-Clause
#include "engine/coll/meeting.hpp"

#include <new>
#include <utility>

#include "engine/coll/choice.hpp"
#include "engine/coll/combine.hpp"
#include "engine/coll/scratch.hpp"
#include "engine/coll/stages.hpp"
#include "engine/message/transfer.hpp"
#include "engine/object/deaths.hpp"

namespace rmq::mpi::coll {
namespace {

// Calls that could use a board before it is made: most communicators never come so far. Making it takes two trees of
// messages.
constexpr std::uint8_t kCallsBefore = 2;
// Members up to which all read what each has brought, where none waits for a CPU; and where they do, as each combines
// everything then.
constexpr int kAllRead = 8;
constexpr int kAllReadCrowded = 2;
// Beyond, where each has a CPU, the one counter is slower than log2(p) messages.
constexpr int kCountedAlone = 16;
bool on_one_host(const Comm& comm) {
  const adi::Device& d = *comm.device;
  const bool foreign = d.any_foreign(comm.group->world);
  for (int r = 1; r < comm.size(); ++r)
    if (d.host_of(comm.world_of(r), foreign) != d.host_of(comm.world_of(0), foreign)) return false;
  return true;
}

std::shared_ptr<Meeting> make_meeting(Comm& comm, int& error) {
  Steps tell(comm), agree(comm);
  auto memory =
      HostMemory::share(tell, agree, Meeting::bytes(comm.size()), [&](void* at) { Meeting::make(at, comm.size()); });
  error = agree.error();
  return memory ? std::make_shared<Meeting>(std::move(memory), comm) : nullptr;
}

Rank lost_member(const Comm& comm) {
  return lost_among(comm, Ranks::rule(0, comm.size()));
}

[[noreturn]] void fail_for(Rank lost) {
  fail_call(lost_class(lost), lost_text(lost));
}

// Null: there is none, the call does not fit, or `error`. What decides is the same on all members. Calls in the
// background keep to messages: several may be under way, and a task does not poll. So do jobs whose ranks may die:
// whoever hears of a death leaves a round at once, and none could tell whether the others had a board to wait at.
Meeting* meeting_of(Comm& comm, Collective what, std::uint64_t bytes, int& error, bool fits = true) {
  error = MPI_SUCCESS;
  if (comm.size() == 1 || Task::current() || ft::may_fail()) return nullptr;
  const Choice& choice = terms_of(comm).choice();
  const Case c{what, comm.size(), bytes, traits_of(comm).crowded};
  if (!choice.forced().empty() && choice.choose(c, algorithms_of(what)) != Algorithm::board) [[unlikely]]
    return nullptr;  // else the board comes first
  if (comm.calls_before_meeting <= kCallsBefore) {
    if (comm.calls_before_meeting++ < kCallsBefore || !on_one_host(comm)) return nullptr;
    if (comm.size() > kCountedAlone && !traits_of(comm).crowded) return nullptr;
    comm.meeting = make_meeting(comm, error);
    comm.meeting_failed = error != MPI_SUCCESS;
  }
  if (!fits) return nullptr;
  // Others may meet, and would not come to hear of this rank by messages.
  if (comm.meeting || comm.meeting_failed) {
    if (const Rank lost = lost_member(comm); lost != kNoRank) fail_for(lost);
  }
  return comm.meeting.get();
}

/// Whether all have come to the same collective; how many bytes they bring may differ, which is an error. A program
/// that mixes collectives up waits, as it does with messages, and is told why.
bool same_kind(const Board& board) {
  for (int i = 1; i < board.members(); ++i)
    if (board.brought(i).kind != board.brought(0).kind) return false;
  return true;
}

void wake_others(const Comm& comm) {
  for (int r = 0; r < comm.size(); ++r)
    if (r != comm.rank) comm.device->wake(comm.world_of(r));
}

struct Waiting {
  const Comm& comm;
  const Board& board;
};

// For a report: as if it waited for a message from each that has not come.
void tell(const void* object, ReportText& to) {
  const auto& w = *static_cast<const Waiting*>(object);
  for (int r = 0; r < w.comm.size() && to.has_room(); ++r) {
    if (!w.board.has_come(r) || w.board.brought(r).kind != w.board.brought(w.comm.rank).kind)
      tell_awaited(w.comm, r, to);
  }
}

// Until the round is open; kNoRank, or a member that is lost.
Rank wait(const Comm& comm, const Board& board) {
  const Waiting waiting{comm, board};
  const auto open = [&] { return board.is_open() && (board.one_answers() || same_kind(board)); };
  return await_stores(comm, open, [&] { return lost_member(comm); }, {tell, &waiting});
}

// All come, each with `bytes` at `data`; `answer(result)` combines, on the last to come, where one answers for all. A
// member that has lost another does not come any more: rounds that not all have come to stay closed.
template <class Answer>
int hold(Comm& comm, Board& board, const void* data, std::size_t bytes, const Answer& answer) {
  adi::Device& device = *comm.device;
  device.trace().event(Event::meet, 0, comm.world_of(0), comm.context, board.round() + 1);
  if (board.come(collective_kind(comm), data, bytes) && same_kind(board)) {
    Brought result{};
    result.bytes = static_cast<std::uint32_t>(bytes);
    for (int i = 0; i < board.members(); ++i)
      if (board.brought(i).bytes != bytes) result.kind = 1;  // they do not agree
    if (result.kind == 0) answer(result);
    board.answer(result);
    wake_others(comm);
  } else if (!board.one_answers()) {
    wake_others(comm);
  }
  const Rank lost = wait(comm, board);
  device.trace().event(Event::met, 0, comm.world_of(0), comm.context, board.round());
  if (lost != kNoRank) fail_for(lost);
  if (board.one_answers()) return board.answered().kind == 0 ? MPI_SUCCESS : MPI_ERR_TRUNCATE;
  for (int i = 0; i < board.members(); ++i)
    if (board.brought(i).bytes != bytes) return MPI_ERR_TRUNCATE;
  return MPI_SUCCESS;
}

}  // namespace

Meeting::Meeting(std::unique_ptr<HostMemory> memory, const Comm& comm)
    : memory_(std::move(memory)),
      members_(comm.size()),
      board_(memory_->at(), members_, comm.rank, members_ > (traits_of(comm).crowded ? kAllReadCrowded : kAllRead)) {}

// In rank order, grouped as in the algorithms that this one stands in for.
void Meeting::combine_brought(const Reduction& r, void* out) {
  const std::uint64_t bytes = bytes_of(r);
  if (bytes == 0) return;
  if (members_ == 2) {
    std::memcpy(out, board_.brought(1).data.data(), bytes);
    return combine(r, board_.brought(0).data.data(), out);
  }
  operands_.clear();
  for (int i = 0; i < members_; ++i) {
    Brought& copy = copies_[static_cast<std::size_t>(i)];
    copy = board_.brought(i);
    operands_.push_back({copy.data.data(), r.count, &r.type});
  }
  std::memcpy(out, combine_pairs(r, operands_, Grouping::doubling).data, bytes);
}

// Before anybody waits for this rank.
void Meeting::make_room() {
  if (members_ == 2) return;
  copies_.resize(static_cast<std::size_t>(members_));
  operands_.reserve(static_cast<std::size_t>(members_));
}

int Meeting::allreduce(Comm& comm, const void* in, void* out, const Reduction& r) {
  const std::uint64_t bytes = bytes_of(r);
  make_room();
  const int error = hold(comm, board_, in, bytes, [&](Brought& result) { combine_brought(r, result.data.data()); });
  if (error != MPI_SUCCESS) return error;
  if (!board_.one_answers()) {
    combine_brought(r, out);
  } else if (bytes > 0) {
    std::memcpy(out, board_.answered().data.data(), bytes);
  }
  return MPI_SUCCESS;
}

int Meeting::barrier(Comm& comm) {
  return hold(comm, board_, nullptr, 0, [](Brought&) {});
}

int Meeting::allgather(Comm& comm, const Buffer& own, const Blocks& recv, bool in_place) {
  const std::uint64_t block = recv.bytes(0);
  const bool good = bytes_of(own) == block;  // else the others hear of it
  if (good && block > 0) pack_at(row_.data(), own);
  const int error = hold(comm, board_, row_.data(), good ? block : 0, [](Brought&) {});
  if (error != MPI_SUCCESS || !good) return error != MPI_SUCCESS ? error : MPI_ERR_TRUNCATE;
  for (int i = 0; i < members_ && block > 0; ++i)
    if (i != comm.rank || !in_place) unpack_at(recv[i], board_.row(i));
  return MPI_SUCCESS;
}

int Meeting::alltoall(Comm& comm, const Blocks& send, const Blocks& recv) {
  const std::uint64_t block = recv.bytes(0);
  const bool good = send.in_place() || send.bytes(0) == block;
  const auto at = [&](int rank) { return static_cast<std::uint64_t>(rank) * block; };
  for (int i = 0; i < members_ && good && block > 0; ++i)
    pack_at(row_.data() + at(i), send.in_place() ? recv[i] : send[i]);
  const int error = hold(comm, board_, row_.data(), good ? at(members_) : 0, [](Brought&) {});
  if (error != MPI_SUCCESS || !good) return error != MPI_SUCCESS ? error : MPI_ERR_TRUNCATE;
  for (int i = 0; i < members_ && block > 0; ++i) unpack_at(recv[i], board_.row(i) + at(comm.rank));
  return MPI_SUCCESS;
}

std::optional<int> meet(Comm& comm) {
  int error;
  Meeting* const meeting = meeting_of(comm, Collective::barrier, 0, error);
  if (error != MPI_SUCCESS) return error;
  return meeting != nullptr ? std::optional(meeting->barrier(comm)) : std::nullopt;
}

std::optional<int> meet(Comm& comm, const void* in, void* out, const Reduction& r) {
  int error;
  const bool fits = bytes_of(r) <= Brought::kMost && r.op.builtin != ReduceOp::none && r.type.dense;
  Meeting* const meeting = meeting_of(comm, Collective::allreduce, bytes_of(r), error, fits);
  if (error != MPI_SUCCESS) return error;
  return meeting != nullptr ? std::optional(meeting->allreduce(comm, in, out, r)) : std::nullopt;
}

std::optional<int> meet(Comm& comm, const Buffer& own, const Blocks& recv, bool in_place) {
  if (recv.bytes(0) > Board::kRowMost) return std::nullopt;
  int error;
  Meeting* const meeting =
      meeting_of(comm, Collective::allgather, recv.bytes(0) * static_cast<std::uint64_t>(comm.size()), error);
  if (error != MPI_SUCCESS) return error;
  return meeting != nullptr ? std::optional(meeting->allgather(comm, own, recv, in_place)) : std::nullopt;
}

std::optional<int> meet(Comm& comm, const Blocks& send, const Blocks& recv) {
  if (recv.bytes(0) > Board::kRowMost / static_cast<std::uint64_t>(comm.size())) return std::nullopt;
  int error;
  Meeting* const meeting = meeting_of(comm, Collective::alltoall, recv.bytes(0), error);
  if (error != MPI_SUCCESS) return error;
  return meeting != nullptr ? std::optional(meeting->alltoall(comm, send, recv)) : std::nullopt;
}

}  // namespace rmq::mpi::coll

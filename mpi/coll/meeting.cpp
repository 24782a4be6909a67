#include "mpi/coll/meeting.hpp"

#include <memory>
#include <vector>

#include "mpi/coll/choice.hpp"
#include "mpi/coll/combine.hpp"
#include "mpi/coll/scratch.hpp"
#include "mpi/coll/stages.hpp"
#include "mpi/internal/comms.hpp"
#include "mpi/internal/failure.hpp"
#include "mpi/internal/p2p.hpp"

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
// Looks at the memory between two polls, where nobody waits for this CPU.
constexpr int kLooksPerPoll = 16;

// Of communicators that are gone, whose other members may still look: this rank's memory.
struct Deserted {
  void* memory;
  Board board;
};
std::vector<Deserted>& deserted() {
  static auto* const all = new std::vector<Deserted>;  // never destroyed, like the runtime
  return *all;
}

void* aligned(void* memory) {
  const auto at = reinterpret_cast<std::uintptr_t>(memory);
  return reinterpret_cast<void*>((at + kCacheLine - 1) / kCacheLine * kCacheLine);
}

bool on_one_host(const Comm& comm) {
  const std::vector<int>& host = comm.device->job().host_of_rank;
  const auto host_of = [&](int r) { return host[static_cast<std::size_t>(comm.world_of(r))]; };
  for (int r = 1; r < comm.size(); ++r)
    if (host_of(r) != host_of(0)) return false;
  return true;
}

// The first member has the memory. One that cannot reach it leaves all without a board.
std::shared_ptr<Board> make_board(Comm& comm) {
  adi::Device& device = *comm.device;
  std::erase_if(deserted(), [&](const Deserted& d) {
    if (d.board.is_deserted()) device.MPID_Mem_free(d.memory);
    return d.board.is_deserted();
  });
  const int p = comm.size();
  const std::size_t bytes = Board::bytes(p);
  void* const owned = comm.rank == 0 ? device.MPID_Mem_alloc(bytes + kCacheLine) : nullptr;
  void* memory = owned != nullptr ? aligned(owned) : nullptr;
  std::vector<std::uint64_t> token{0};
  if (memory != nullptr) {
    Board::make(memory, p);
    token[0] = device.MPID_Mem_token(memory, bytes);
  }
  const Party all = whole_party(comm);
  broadcast(all, token);
  if (comm.rank != 0) memory = device.MPID_Mem_map(comm.world_of(0), token[0], bytes);
  const std::uint64_t reaches = token[0] != 0 && memory != nullptr ? 1 : 0;
  for (const std::uint64_t one : gather_all(all, {&reaches, 1})) {
    if (one != 0) continue;
    if (owned != nullptr) device.MPID_Mem_free(owned);
    return nullptr;
  }
  const bool one_answers = p > (comm.terms->crowded() ? kAllReadCrowded : kAllRead);
  return std::shared_ptr<Board>(new Board(memory, p, comm.rank, one_answers), [owned](Board* board) {
    board->leave();
    if (owned != nullptr) deserted().push_back({owned, *board});
    delete board;
  });
}

Board* board_for(Comm& comm, Algorithm wish) {
  if (wish != Algorithm::automatic && wish != Algorithm::board) return nullptr;
  if (comm.board) return comm.board.get();
  if (comm.calls_without_board > kCallsBefore) return nullptr;
  if (comm.calls_without_board++ < kCallsBefore || !on_one_host(comm)) return nullptr;
  if (comm.size() > kCountedAlone && !comm.terms->crowded()) return nullptr;
  comm.board = make_board(comm);
  return comm.board.get();
}

/// Whether anybody could meet here: not in the background, where several calls are under way, and a task does not poll.
bool may_meet(Comm& comm) {
  if (comm.size() == 1 || Task::current()) return false;
  if (!comm.terms->known()) [[unlikely]]
    comm.terms->await(*comm.device);
  return true;
}

std::uint32_t kind_of_call(const Comm& comm) {
  return comm.called[(comm.calls - 1) % comm.called.size()].kind;
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
    if (r != comm.rank) comm.device->MPID_Wake(comm.world_of(r));
}

struct Waiting {
  const Comm& comm;
  const Board& board;
};

// For a report: as if it waited for a message from each that has not come.
void tell(const void* object, ReportText& to) {
  const auto& w = *static_cast<const Waiting*>(object);
  for (int r = 0; r < w.comm.size() && to.has_room(); ++r) {
    if (w.board.has_come(r) && w.board.brought(r).kind == w.board.brought(w.comm.rank).kind) continue;
    to.begin_object();
    to.field("kind", "recv");
    to.field("context", w.comm.recv_context + kCollective);
    to.field("source", r);
    to.field("tag", 0);
    to.field("peer", w.comm.world_of(r));
    to.field("bytes", 0);
    to.field("matched", false);
    to.end_object();
  }
}

bool has_lost_member(const Comm& comm) {
  for (int r = 0; r < comm.size(); ++r)
    if (!comm.device->peer_error(comm.world_of(r)).empty()) return true;
  return false;
}

// Until the round is open; false: a member is lost.
bool wait(const Comm& comm, const Board& board) {
  adi::Device& device = *comm.device;
  const auto open = [&] { return board.is_open() && (board.one_answers() || same_kind(board)); };
  const int looks = comm.terms->crowded() ? 1 : kLooksPerPoll;
  const Waiting waiting{comm, board};
  for (;;) {
    for (int i = 0; i < looks; ++i)
      if (open()) return true;
    if (device.MPID_Any_lost() && has_lost_member(comm)) return false;
    const adi::Device::Watch watch(device, open);
    device.MPID_Poll(true, {tell, &waiting});
  }
}

// All come, each with `bytes` at `data`; `answer(result)` combines, on the last to come, where one answers for all.
template <class Answer>
int hold(Comm& comm, Board& board, const void* data, std::size_t bytes, const Answer& answer) {
  adi::Device& device = *comm.device;
  device.trace().event(Event::meet, 0, comm.world_of(0), comm.context, board.round() + 1);
  if (board.come(kind_of_call(comm), data, bytes) && same_kind(board)) {
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
  if (!wait(comm, board)) return error_class_of(Errc::peer_lost);
  device.MPID_Waited();
  device.trace().event(Event::met, 0, comm.world_of(0), comm.context, board.round());
  if (board.one_answers()) return board.answered().kind == 0 ? MPI_SUCCESS : MPI_ERR_TRUNCATE;
  for (int i = 0; i < board.members(); ++i)
    if (board.brought(i).bytes != bytes) return MPI_ERR_TRUNCATE;
  return MPI_SUCCESS;
}

// In rank order, grouped as in the algorithms that this one stands in for.
void combine_brought(const Board& board, const Reduction& r, void* out) {
  const std::uint64_t bytes = bytes_of(r);
  const auto p = static_cast<std::size_t>(board.members());
  if (p == 2) {  // the way of the short message: no memory
    std::memcpy(out, board.brought(1).data.data(), bytes);
    return combine(r, board.brought(0).data.data(), out);
  }
  ScratchArray<Brought> copies(p);
  std::vector<Buffer> operands;
  operands.reserve(p);
  for (std::size_t i = 0; i < p; ++i) {
    copies[i] = board.brought(static_cast<int>(i));
    operands.push_back({copies[i].data.data(), r.count, &r.type});
  }
  std::memcpy(out, combine_pairs(r, operands, Grouping::doubling).data, bytes);
}

}  // namespace

Board* board_for_barrier(Comm& comm) {
  return may_meet(comm) ? board_for(comm, comm.terms->forced().barrier) : nullptr;
}

Board* board_for_allreduce(Comm& comm, const Reduction& r) {
  if (bytes_of(r) > Brought::kMost || r.op.builtin == ReduceOp::none || !r.type.dense) return nullptr;
  return may_meet(comm) ? board_for(comm, comm.terms->forced().allreduce) : nullptr;
}

int meet(Comm& comm, Board& board) {
  return hold(comm, board, nullptr, 0, [](Brought&) {});
}

int meet(Comm& comm, Board& board, const void* in, void* out, const Reduction& r) {
  const std::uint64_t bytes = bytes_of(r);
  const int error =
      hold(comm, board, in, bytes, [&](Brought& result) { combine_brought(board, r, result.data.data()); });
  if (error != MPI_SUCCESS) return error;
  if (board.one_answers()) {
    std::memcpy(out, board.answered().data.data(), bytes);
  } else {
    combine_brought(board, r, out);
  }
  return MPI_SUCCESS;
}

}  // namespace rmq::mpi::coll

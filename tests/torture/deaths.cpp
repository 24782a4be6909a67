// SPDX-License-Identifier: BSD-3-Clause
// A job that goes on when ranks die, for rmqrun --ft: rounds of random operations, in some of which drawn ranks kill
// themselves, before the operation or while it is under way, or one revokes the communicator in place of it. Every
// survivor has right data or hears MPIX_ERR_PROC_FAILED, or MPIX_ERR_REVOKED, just where that has happened; then all
// revoke, shrink, and go on with who is left. All draw alike from the seed.
//   torture_deaths --seed N [--count ROUNDS]
#include <mpi.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "chance.hpp"
#include "program.hpp"

namespace {

enum class Kind { barrier, bcast, reduce, allreduce, allgather, alltoall, ring, across, count };
const char* const names[] = {"barrier", "bcast", "reduce", "allreduce", "allgather", "alltoall", "ring", "across"};

/// A communicator beside that of the rounds, of every so-many-th of its ranks, and what is made of it.
struct Side {
  int ways = 1;
  std::vector<bool> shrinks;  // else a duplicate
};

struct Round {
  Kind kind = Kind::barrier;
  bool background = false;
  int words = 0, root = 0;  // a rank of the communicator
  std::vector<bool> dies;   // ranks of the communicator
  bool before = false;      // they die before the operation
  int revoker = -1;         // the rank that revokes the communicator in place of the operation
  int pause = 0;            // microseconds until then, or from its start
  std::vector<Side> sides;
};

unsigned value(int round, int from, int k) {
  return static_cast<unsigned>(round * 7919 + from * 104729 + k * 31);
}

[[noreturn]] void wrong(const char* what, long got, long want) {
  std::fprintf(stderr, "%s%s: %ld and should be %ld\n", torture::now, what, got, want);
  MPI_Abort(MPI_COMM_WORLD, 3);
  std::exit(3);
}

/// `deaths`: one round in so many has some.
Round draw(torture::Chance& chance, int size, int deaths) {
  Round round;
  round.kind = chance.one_in(5) ? Kind::barrier : static_cast<Kind>(chance.below(static_cast<int>(Kind::count)));
  round.background = chance.one_in(2);
  round.words = chance.of({0, 1, 7, 64, 500, 5000, 40000});
  round.root = chance.below(size);
  round.before = chance.one_in(2);
  round.pause = chance.below(3000);
  if (chance.one_in(3))
    for (int n = 1 + chance.below(4); n > 0; --n) {
      Side& side = round.sides.emplace_back(Side{chance.one_in(3) ? size : 1 + chance.below(3), {}});
      for (int k = 1 + chance.below(3); k > 0; --k) side.shrinks.push_back(chance.one_in(2));
    }
  round.dies.assign(static_cast<std::size_t>(size), false);
  if (size > 1 && chance.one_in(deaths))
    for (int n = 1 + chance.below(2); n > 0; --n)
      if (std::count(round.dies.begin(), round.dies.end(), true) + 1 < size)
        round.dies[static_cast<std::size_t>(chance.below(size))] = true;
  if (size > 1 && chance.one_in(2 * deaths)) round.revoker = chance.below(size);
  if (round.revoker >= 0 && round.dies[static_cast<std::size_t>(round.revoker)]) round.revoker = -1;
  return round;
}

/// The communicator of a round's operation: that of the rounds, or one across its two sides, even and odd ranks.
struct Across {
  MPI_Comm local = MPI_COMM_NULL, inter = MPI_COMM_NULL, over;

  Across(const Round& round, MPI_Comm comm) : over(comm) {
    int me = 0, size = 0;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &size);
    if (round.kind != Kind::across || size < 2) return;
    MPI_Comm_split(comm, me % 2, me, &local);
    const int code = MPI_Intercomm_create(local, 0, comm, 1 - me % 2, 99, &inter);
    if (code != MPI_SUCCESS) wrong("MPI_Intercomm_create", code, MPI_SUCCESS);
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    over = inter;
  }
  void end() {
    if (inter == MPI_COMM_NULL) return;
    MPI_Comm_free(&inter);
    MPI_Comm_free(&local);
  }
};

/// The buffers of one operation and its result.
struct Operation {
  const Round& round;
  MPI_Comm comm;
  MPI_Comm across;
  int number, me = 0, size = 0;
  std::vector<unsigned> out, in;

  Operation(const Round& r, MPI_Comm c, MPI_Comm a, int n) : round(r), comm(c), across(a), number(n) {
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &size);
    const int pieces = round.kind == Kind::alltoall ? size : 1;
    for (int k = 0; k < round.words * pieces; ++k) out.push_back(value(number, me, k));
    in.assign(static_cast<std::size_t>(round.words * size), 0xEEEEEEEE);
  }

  int call() {
    MPI_Request later = MPI_REQUEST_NULL;
    const int code = round.background ? begin(&later) : block();
    if (!round.background || code != MPI_SUCCESS) return code;
    return MPI_Wait(&later, MPI_STATUS_IGNORE);
  }
  int block() {
    const int n = round.words;
    const auto t = MPI_UNSIGNED;
    switch (round.kind) {
      case Kind::barrier:
        return MPI_Barrier(comm);
      case Kind::across:
        return MPI_Barrier(across);
      case Kind::bcast:
        return MPI_Bcast(me == round.root ? out.data() : in.data(), n, t, round.root, comm);
      case Kind::reduce:
        return MPI_Reduce(out.data(), in.data(), n, t, MPI_SUM, round.root, comm);
      case Kind::allreduce:
        return MPI_Allreduce(out.data(), in.data(), n, t, MPI_SUM, comm);
      case Kind::allgather:
        return MPI_Allgather(out.data(), n, t, in.data(), n, t, comm);
      case Kind::alltoall:
        return MPI_Alltoall(out.data(), n, t, in.data(), n, t, comm);
      default:
        return MPI_Sendrecv(out.data(), n, t, (me + 1) % size, number, in.data(), n, t, (me + size - 1) % size, number,
                            comm, MPI_STATUS_IGNORE);
    }
  }
  int begin(MPI_Request* later) {
    const int n = round.words;
    const auto t = MPI_UNSIGNED;
    switch (round.kind) {
      case Kind::barrier:
        return MPI_Ibarrier(comm, later);
      case Kind::across:
        return MPI_Ibarrier(across, later);
      case Kind::bcast:
        return MPI_Ibcast(me == round.root ? out.data() : in.data(), n, t, round.root, comm, later);
      case Kind::reduce:
        return MPI_Ireduce(out.data(), in.data(), n, t, MPI_SUM, round.root, comm, later);
      case Kind::allreduce:
        return MPI_Iallreduce(out.data(), in.data(), n, t, MPI_SUM, comm, later);
      case Kind::allgather:
        return MPI_Iallgather(out.data(), n, t, in.data(), n, t, comm, later);
      case Kind::alltoall:
        return MPI_Ialltoall(out.data(), n, t, in.data(), n, t, comm, later);
      default:
        *later = MPI_REQUEST_NULL;
        return block();
    }
  }

  /// Whether the operation cannot succeed here when `dead` has not come to it.
  bool needs(int dead) const {
    switch (round.kind) {
      case Kind::bcast:
        return dead == round.root && round.words > 0;
      case Kind::reduce:
        return me == round.root && round.words > 0;
      case Kind::ring:
        return dead == (me + size - 1) % size;
      case Kind::barrier:
        return true;
      case Kind::across:  // who has heard from the other side is through, unless its own lacks a member
        return across == comm || dead % 2 != me % 2;
      default:
        return round.words > 0;
    }
  }
  void judge(int code) const {
    int what = MPI_SUCCESS;
    if (code != MPI_SUCCESS) MPI_Error_class(code, &what);
    bool deaths = false;
    for (int r = 0; r < size; ++r) {
      if (!round.dies[static_cast<std::size_t>(r)]) continue;
      deaths = true;
      if (round.before && what == MPI_SUCCESS && needs(r)) wrong("success without a rank that had died", r, -1);
    }
    const bool revoked = round.revoker >= 0;
    if (revoked && what == MPI_SUCCESS && needs(round.revoker)) wrong("success without the revoker", round.revoker, -1);
    if (what == MPI_SUCCESS) return check();
    if ((what == MPIX_ERR_PROC_FAILED && deaths) || (what == MPIX_ERR_REVOKED && revoked)) return;
    wrong("error class", what, deaths ? MPIX_ERR_PROC_FAILED : revoked ? MPIX_ERR_REVOKED : MPI_SUCCESS);
  }
  void check() const {
    const int n = round.words;
    for (int k = 0; k < n * size; ++k) {
      unsigned want = 0xEEEEEEEE;
      const int piece = n == 0 ? 0 : k / n, at = n == 0 ? 0 : k % n;
      const bool first = piece == 0;
      if (round.kind == Kind::bcast && first && me != round.root) want = value(number, round.root, at);
      if ((round.kind == Kind::reduce && first && me == round.root) || (round.kind == Kind::allreduce && first)) {
        want = 0;
        for (int r = 0; r < size; ++r) want += value(number, r, at);
      }
      if (round.kind == Kind::allgather) want = value(number, piece, at);
      if (round.kind == Kind::alltoall) want = value(number, piece, me * n + at);
      if (round.kind == Kind::ring && first) want = value(number, (me + size - 1) % size, at);
      const unsigned is = in[static_cast<std::size_t>(k)];
      if (is != want) wrong("contents", is, want);
    }
  }
};

/// What comes of the sides of a round: those who live shrink or duplicate all of them at once, of each one what is made
/// of it in its order, but each rank in an order of its own among them. Whoever dies never does.
class Sides {
 public:
  Sides(const Round& round, MPI_Comm comm) {
    int me = 0, size = 0;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &size);
    for (const Side& side : round.sides) {
      One one;
      for (const bool shrinks : side.shrinks) one.made.push_back({shrinks});
      MPI_Comm_split(comm, me % side.ways, me, &one.comm);
      for (int r = me % side.ways; r < size; r += side.ways)
        ++(round.dies[static_cast<std::size_t>(r)] ? one.dead : one.living);
      all_.push_back(one);
    }
  }
  void begin(unsigned long seed) {
    torture::Chance own(seed);
    std::vector<std::size_t> left;
    for (std::size_t i = 0; i < all_.size(); ++i) left.insert(left.end(), all_[i].made.size(), i);
    for (; !left.empty(); left.pop_back()) {
      std::swap(left[static_cast<std::size_t>(own.below(static_cast<int>(left.size())))], left.back());
      One& one = all_[left.back()];
      Made& made = one.made[one.begun++];
      const int code = made.shrinks ? MPIX_Comm_ishrink(one.comm, &made.comm, &made.request)
                                    : MPI_Comm_idup(one.comm, &made.comm, &made.request);
      if (code != MPI_SUCCESS) wrong("begin of a side", code, MPI_SUCCESS);
      // The next begins when this one has gone some way.
      int over = 0;
      for (int polls = own.of({0, 3, 30, 300}); polls > 0 && !over; --polls)
        MPI_Request_get_status(made.request, &over, MPI_STATUS_IGNORE);
      usleep(static_cast<useconds_t>(own.of({0, 0, 0, 3000})));
    }
  }
  void end() {
    for (One& one : all_) {
      for (Made& made : one.made) end(one, made);
      MPI_Comm_free(&one.comm);
    }
  }

 private:
  struct Made {
    bool shrinks;
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Request request = MPI_REQUEST_NULL;
  };
  struct One {
    MPI_Comm comm = MPI_COMM_NULL;
    std::vector<Made> made;
    std::size_t begun = 0;
    int living = 0, dead = 0;
  };
  void end(const One& one, Made& made) {
    int what = MPI_SUCCESS, size = 0;
    const int code = MPI_Wait(&made.request, MPI_STATUS_IGNORE);
    if (code != MPI_SUCCESS) MPI_Error_class(code, &what);
    const bool lives = made.shrinks || one.dead == 0;
    const int want = lives ? MPI_SUCCESS : MPIX_ERR_PROC_FAILED;
    if (what != want) wrong(made.shrinks ? "shrink of a side" : "duplicate of a side", what, want);
    if (lives) {
      MPI_Comm_size(made.comm, &size);
      if (size != one.living) wrong("ranks of what is made of a side", size, one.living);
    }
    if (made.comm != MPI_COMM_NULL) MPI_Comm_free(&made.comm);
  }

  std::vector<One> all_;
};

/// Messages to three ranks that nobody will receive: the communicator is revoked while they are under way.
class Forgotten {
 public:
  static constexpr int kEach = 40;

  Forgotten(const Round& round, MPI_Comm comm) : data_(static_cast<std::size_t>(round.words)) {
    int me = 0, size = 0;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &size);
    for (int n = 0; n < 3 * kEach; ++n) {
      requests_.push_back(MPI_REQUEST_NULL);  // which stays where another has revoked it already
      MPI_Isend(data_.data(), round.words, MPI_UNSIGNED, (me + 1 + n % 3) % size, 7777, comm, &requests_.back());
    }
  }
  /// They may have left, or the communicator is revoked, or who should get them has died.
  void end() {
    for (MPI_Request& request : requests_) {
      int what = MPI_SUCCESS;
      const int code = MPI_Wait(&request, MPI_STATUS_IGNORE);
      if (code != MPI_SUCCESS) MPI_Error_class(code, &what);
      if (what != MPI_SUCCESS && what != MPIX_ERR_REVOKED && what != MPIX_ERR_PROC_FAILED)
        wrong("error class of a message that nobody receives", what, MPIX_ERR_REVOKED);
    }
  }

 private:
  std::vector<unsigned> data_;
  std::vector<MPI_Request> requests_;
};

/// How many messages this rank keeps that it has not received.
unsigned long kept() {
  int provided = 0, index = 0, count = 0;
  unsigned long is = 0;
  MPI_T_pvar_session session;
  MPI_T_pvar_handle handle;
  MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
  if (MPI_T_pvar_get_index("rmq_unexpected_queue_length", MPI_T_PVAR_CLASS_LEVEL, &index) != MPI_SUCCESS) return 0;
  MPI_T_pvar_session_create(&session);
  MPI_T_pvar_handle_alloc(session, index, nullptr, &handle, &count);
  MPI_T_pvar_read(session, handle, &is);
  MPI_T_pvar_handle_free(session, &handle);
  MPI_T_pvar_session_free(&session);
  MPI_T_finalize();
  return is;
}

/// All that was sent to this rank before has come when it has heard from everybody. Who is ahead has sent fewer
/// messages of what comes next than one rank has sent in vain.
void expect_forgotten(MPI_Comm comm) {
  int size = 0;
  MPI_Comm_size(comm, &size);
  std::vector<int> out(static_cast<std::size_t>(size)), in(out.size());
  int what = MPI_SUCCESS;
  const int code = MPI_Alltoall(out.data(), 1, MPI_INT, in.data(), 1, MPI_INT, comm);
  if (code != MPI_SUCCESS) MPI_Error_class(code, &what);
  if (what != MPI_SUCCESS) wrong("error class of MPI_Alltoall", what, MPI_SUCCESS);
  const auto messages = static_cast<long>(kept());
  if (messages >= Forgotten::kEach) wrong("messages kept", messages, 0);
}

/// A communicator of those who live, if some have died: all agree on that first.
void go_on(MPI_Comm& comm, const Round& round, int code) {
  int good = code == MPI_SUCCESS ? 1 : 0;
  const int agreed = MPIX_Comm_agree(comm, &good);
  if (good == 1 && agreed == MPI_SUCCESS) return;
  Forgotten forgotten(round, comm);
  MPIX_Comm_revoke(comm);
  forgotten.end();
  MPI_Comm left;
  if (MPIX_Comm_shrink(comm, &left) != MPI_SUCCESS) wrong("MPIX_Comm_shrink", 1, 0);
  MPI_Comm_free(&comm);
  comm = left;
  int size = 0;
  MPI_Comm_size(comm, &size);
  const long want = std::count(round.dies.begin(), round.dies.end(), false);
  if (size != want) wrong("ranks that are left", size, want);
  expect_forgotten(comm);
}

}  // namespace

int main(int argc, char** argv) {
  const torture::Seeds seeds = torture::read_seeds(argc, argv, 20);  // one, with so many rounds
  const auto rounds = static_cast<int>(seeds.count);
  const unsigned long seed = seeds.first;
  MPI_Init(&argc, &argv);
  torture::tell_when_ended();
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  torture::Chance chance(seed);
  const int deaths = chance.of({2, 8});
  int size = 0, me = 0;
  for (int number = 0; number < rounds; ++number) {
    alarm(60);
    MPI_Comm_size(comm, &size);
    MPI_Comm_rank(comm, &me);
    const Round round = draw(chance, size, deaths);
    std::snprintf(torture::now, sizeof torture::now, "seed %lu, round %d (%s), rank %d of %d: ", seed, number,
                  names[static_cast<int>(round.kind)], me, size);
    const bool dies = round.dies[static_cast<std::size_t>(me)];
    Sides sides(round, comm);
    Across across(round, comm);
    if (round.revoker >= 0) MPI_Barrier(comm);  // all are through with what was before; it may be revoked itself
    if (dies && round.before) {
      usleep(static_cast<useconds_t>(round.pause));
      raise(SIGKILL);
    }
    Operation operation(round, comm, across.over, number);
    // Whoever dies while it is under way is ended by a clock, wherever it is then, also behind it.
    if (dies) {
      signal(SIGALRM, [](int) { raise(SIGKILL); });
      ualarm(static_cast<useconds_t>(round.pause + 1), 0);
    }
    int code = MPI_ERR_OTHER;
    if (me == round.revoker) {
      usleep(static_cast<useconds_t>(round.pause));
      MPIX_Comm_revoke(across.over);
    } else {
      code = operation.call();
      while (dies) pause();
      operation.judge(code);
    }
    sides.begin(seed + static_cast<unsigned long>(number * 1000 + me));
    go_on(comm, round, code);
    across.end();
    sides.end();
  }
  alarm(0);
  MPI_Comm_rank(comm, &me);
  if (me == 0) std::printf("1 programs, %d calls\n", rounds);
  MPI_Comm_free(&comm);
  MPI_Finalize();
  return 0;
}

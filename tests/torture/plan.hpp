// SPDX-License-Identifier: BSD-3-Clause
// A random program: steps that every rank draws alike from the seed and the number of ranks, and the order of their
// events.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "chance.hpp"
#include "face.hpp"

namespace torture {

/// A communicator as the plan knows it. Several of a split share their step; each has an index of its own.
struct Group {
  int comm = 0;              // index of the object
  int maker = -1;            // step that makes it; -1: MPI_COMM_WORLD
  std::vector<int> members;  // world ranks in order

  bool shares = false;  // its members can share memory
  bool keeps = false;   // a short message to a member that stays outside of MPI leaves at once

  int size() const { return static_cast<int>(members.size()); }
  int rank_of(int world) const;  // -1: no member
};

/// What a step does, for each rank: a start, any number of middles, and a finish. All ranks execute all events in one
/// order, and a call that blocks in an event waits for calls of the same event or an earlier one only: so no program
/// deadlocks.
struct Step {
  int id = 0;
  unsigned key = 0;    // contents are a function of it; 1024 successive ones belong to this step
  int maker = -1;      // step that makes the communicator used
  bool holds = false;  // the communicator must live until the finish
  bool makes = false;  // its finish frees the communicators that it makes
  int middles = 0;
  int buffered = 0;  // bytes that it may take of the buffer of MPI_Buffer_attach
  std::string what;

  virtual ~Step() = default;
  virtual void start(Face& face, int world) const = 0;
  virtual void middle(Face&, int /*world*/, int /*at: 0 … middles - 1*/) const {}
  virtual void finish(Face& face, int world) const = 0;
  virtual std::vector<Group> groups() const { return {}; }
};

struct Event {
  int step;
  int part;  // 0: the start; 1 … middles; middles + 1: the finish
};

struct Plan {
  int ranks = 0;
  int buffered = 0;  // bytes for MPI_Buffer_attach
  bool old = false;
  std::vector<std::unique_ptr<Step>> steps;
  std::vector<Event> events;
};

/// What the program may rely on, alike on every rank.
struct World {
  int ranks = 1;
  bool late = false;    // communicators are freed when nothing is under way on them, which some MPIs need
  bool shares = false;  // all ranks can share memory
  bool keeps = false;   // and messages go by it
  bool old = false;     // calls that MPI 3.1 has only
  // TCP connections break: no worlds meet, whose connections are not made for good yet, and no rank stays outside of
  // MPI, which may have to send once more what was on its way.
  bool breaks = false;
  bool threads = false;         // there may be threads that call MPI
  std::set<std::string> kinds;  // of steps; none: all
};

/// `count` steps, of which at most `most` are under way at once, on this communicator and what they make of it.
Plan draw_on(Chance& chance, const World& world, const Group& group, int count, int most);
Plan draw(std::uint64_t seed, const World& world);
/// Does one part of a step.
void perform_part(const Step& step, int part, Face& face, int world);
/// Does all of a rank's part.
void perform(const Plan& plan, Face& face, int world);
/// Leaves just these steps, without those whose communicator is not made.
void keep(Plan& plan, const std::set<int>& steps);
/// The program as C, which needs as many ranks as the plan has.
std::string print_c(const Plan& plan, const std::string& head);

// Each of these draws one step that uses `group`; a new kind of step is one more of them.
using Draw = std::unique_ptr<Step> (*)(Chance&, const Group&, int id);
std::unique_ptr<Step> draw_comm(Chance&, const Group&, int id);
std::unique_ptr<Step> draw_message(Chance&, const Group&, int id);
std::unique_ptr<Step> draw_many(Chance&, const Group&, int id);
std::unique_ptr<Step> draw_ring(Chance&, const Group&, int id);
std::unique_ptr<Step> draw_repeat(Chance&, const Group&, int id);
std::unique_ptr<Step> draw_partitioned(Chance&, const Group&, int id);
std::unique_ptr<Step> draw_order(Chance&, const Group&, int id);
std::unique_ptr<Step> draw_cancel(Chance&, const Group&, int id);
std::unique_ptr<Step> draw_aside(Chance&, const Group&, int id);  // in programs of its own
std::unique_ptr<Step> draw_collective(Chance&, const Group&, int id);
std::unique_ptr<Step> draw_vectors(Chance&, const Group&, int id);
std::unique_ptr<Step> draw_reduction(Chance&, const Group&, int id);
std::unique_ptr<Step> draw_odd(Chance&, const Group&, int id);
std::unique_ptr<Step> draw_objects(Chance&, const Group&, int id);
std::unique_ptr<Step> draw_spawn(Chance&, const Group&, int id);
std::unique_ptr<Step> draw_inter(Chance&, const Group&, int id);
std::unique_ptr<Step> draw_window(Chance&, const Group&, int id);

std::unique_ptr<Step> draw_threads(Chance&, const World&, const Group&, int id);

/// Objects of step `id`, of each kind: n = 0 … 15.
inline int object(int id, int n) {
  return id * 16 + n + 1;
}
/// Words around the protocols' thresholds; one in so many is long.
int draw_words(Chance& chance, int one_is_long = 30);

}  // namespace torture

// SPDX-License-Identifier: BSD-3-Clause
// The objects behind MPI's handles. Each has a reference count: one for the user's handle, one for every other object
// or communication that needs it; it dies with the last. All of them are touched only under the device's Entry.
#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/data/layout.hpp"
#include "base/data/reduction.hpp"
#include "base/packet/packet.hpp"
#include "base/ranks.hpp"
#include "engine/include/rmq_mpi_types.h"
#include "engine/object/handles.hpp"
#include "engine/object/traits.hpp"

namespace rmq::adi {
class Device;
}
namespace rmq::rma {
class Window;
}

namespace rmq::mpi {

namespace coll {
class Meeting;
class Shared;
class Terms;
struct Levels;
}  // namespace coll
namespace ft {
class Circle;
}
class Activity;
class BsendBuffer;
struct Datatype;
struct Topology;

/// A typed buffer as MPI passes it: `count` elements of `type` at `data`.
struct Buffer {
  void* data;
  MPI_Count count;
  const Datatype* type;
};

/// Cached attributes of a communicator, datatype or window, in the order in which they were set.
struct Attribute {
  /// How it was set, and how it is asked for. Numbers as MPICH's Fortran library passes them.
  enum class Form : int { pointer = 0, address_integer = 1, integer = 3 };
  int keyval;
  void* value;
  std::shared_ptr<void*> integer;  // Fortran has set it: the value again, where C may point at it; else null
};
using Attributes = std::vector<Attribute>;

struct Errhandler {
  static constexpr ObjectKind kKind = ObjectKind::errhandler;
  int handle = MPI_ERRHANDLER_NULL;
  int refs = 1;
  enum class Action { fatal, abort, return_, user_comm, user_win, user_file, user_session } action = Action::fatal;
  void (*function)() = nullptr;  // user function, cast back by action
  // What calls a function of C++, of MPICH's C++ library, with the kind of the object; null: the function is C's.
  void (*cxx_proxy)(int kind, void* object, int* code, void (*function)()) = nullptr;
  bool is_fatal() const { return action == Action::fatal || action == Action::abort; }
};

/// Of the sessions model (session.cpp).
struct Session {
  static constexpr ObjectKind kKind = ObjectKind::session;
  int handle = MPI_SESSION_NULL;
  Errhandler* errhandler = nullptr;    // referenced
  std::shared_ptr<BsendBuffer> bsend;  // attached; nullptr: none
};

struct Group {
  static constexpr ObjectKind kKind = ObjectKind::group;
  int handle = MPI_GROUP_NULL;
  int refs = 1;
  Ranks world;                     // world rank of each member
  int rank = MPI_UNDEFINED;        // mine
  bool predefined = false;         // MPI_GROUP_EMPTY
  int session = MPI_SESSION_NULL;  // from one of whose process sets it comes; null: from MPI_COMM_WORLD
  int size() const { return world.size(); }
  /// Place of a world rank in the group; MPI_UNDEFINED when it is not a member.
  int place_of(Rank world_rank) const {
    const int place = world.place_of(world_rank);
    return place >= 0 ? place : MPI_UNDEFINED;
  }
};

struct Info {
  static constexpr ObjectKind kKind = ObjectKind::info;
  int handle = MPI_INFO_NULL;
  std::vector<std::pair<std::string, std::string>> entries;  // in insertion order
};

/// MPI-4.1: kinds of memory that may be passed to MPI: whatever this process can read and write, by all their names.
/// For info objects of sessions, communicators and windows.
inline constexpr const char *kMemoryKindsKey = "mpi_memory_alloc_kinds",
                            *kMemoryKinds = "system,mpi,mpi:alloc_mem,mpi:win_allocate,mpi:win_allocate_shared";

/// How a derived type was made, for MPI_Type_get_envelope and _contents.
struct TypeContents {
  int combiner = MPI_COMBINER_NAMED;
  std::vector<MPI_Count> integers;  // ints (and large counts) in the standard's order
  std::vector<MPI_Aint> addresses;
  std::vector<Datatype*> types;  // referenced
};

struct Datatype {
  static constexpr ObjectKind kKind = ObjectKind::datatype;
  int handle = MPI_DATATYPE_NULL;
  int refs = 1;
  LayoutRef layout;
  Basic basic = Basic::none;  // what reductions see; none for derived types of mixed elements
  std::uint64_t size = 0;     // of one element, packed bytes: cached from layout
  bool dense = false;         // layout->is_dense(): count elements are one run of bytes, starting at the buffer
  bool committed = false;
  bool predefined = false;
  std::string name;
  TypeContents contents;
  Attributes attributes;
};

struct Op {
  static constexpr ObjectKind kKind = ObjectKind::op;
  int handle = MPI_OP_NULL;
  int refs = 1;
  ReduceOp builtin = ReduceOp::none;  // none: user function
  MPI_User_function* function = nullptr;
  bool commutative = true;
  MPI_User_function_c* large_function = nullptr;  // instead of `function`: takes large counts
  // What calls a function of C++, of MPICH's C++ library; null: the function is C's.
  void (*cxx_proxy)(const void* in, void* inout, int count, MPI_Datatype, MPI_User_function*) = nullptr;
};

struct Keyval {
  static constexpr ObjectKind kKind = ObjectKind::keyval;
  int handle = MPI_KEYVAL_INVALID;
  int refs = 1;  // the user's and one for each attribute that is set
  enum class For { comm, type, win } what = For::comm;
  bool freed = false;  // by the user; lives on while attributes are set
  // All handles are ints, so that one type of function serves communicators, datatypes and windows.
  MPI_Comm_copy_attr_function* copy = nullptr;
  MPI_Comm_delete_attr_function* destroy = nullptr;
  // What calls Fortran's functions, of MPICH's Fortran library; null: they are C's.
  int (*copy_proxy)(MPI_Comm_copy_attr_function*, int object, int keyval, void* extra, Attribute::Form, void* value,
                    void** copied, int* wanted) = nullptr;
  int (*destroy_proxy)(MPI_Comm_delete_attr_function*, int object, int keyval, Attribute::Form, void* value,
                       void* extra) = nullptr;
  void* extra = nullptr;  // the user's
};

/// A collective that was called here, for reports.
struct CollectiveCall {
  const char* function = "";
  std::uint32_t kind = 0;   // collective_kind()
  std::uint64_t bytes = 0;  // that the ranks have to agree on; 0: none
  int root = -1;
};

struct Comm {
  static constexpr ObjectKind kKind = ObjectKind::comm;
  int handle = MPI_COMM_NULL;
  int refs = 1;
  std::uint32_t context = 0;       // point-to-point sends; context + 1 is for collectives
  std::uint32_t recv_context = 0;  // receives: the same, except in inter-communicators, where each side has its own
  int rank = 0;
  bool littered = false;         // the program has left messages in its context, which must not meet another's receives
  bool revoked = false;          // MPIX_Comm_revoke, here or elsewhere
  bool stillborn = false;        // nobody has used its contexts, nor will
  Group* group = nullptr;        // local group, referenced
  Group* remote = nullptr;       // inter-communicator: remote group, referenced; else nullptr
  struct Comm* local = nullptr;  // inter-communicator: intra-communicator of the local group
  adi::Device* device = nullptr;       // that its messages go through
  const coll::Terms* terms = nullptr;  // what the job has settled for collectives (engine/coll/choice.hpp)
  std::optional<coll::Traits> traits;  // that its members have agreed on; nothing: those of the job, in `terms`
  Errhandler* errhandler = nullptr;
  std::string name;
  Attributes attributes;
  std::uint32_t collective_number = 0;     // of collectives started here: makes their tags
  std::uint32_t repeated_number = 0;       // the same of persistent ones made here
  std::uint32_t calls = 0;                 // collectives called so far; …
  std::array<CollectiveCall, 8> called;    // … call n is kept at n % 8
  std::uint8_t calls_before_meeting = 0;   // of collectives that could meet, as far as it matters
  bool meeting_failed = false;             // as a member was lost; others may have it
  std::shared_ptr<coll::Meeting> meeting;  // at a board; nullptr: none (engine/coll/meeting.hpp)
  std::uint8_t calls_before_shared = 0;    // the same of stages among the ranks of this host …
  std::shared_ptr<coll::Shared> shared;    // … in memory that they share; nullptr: none (engine/coll/shared.hpp)
  mutable std::shared_ptr<const coll::Levels> levels;  // how it lies on hosts, once asked (engine/coll/levels.hpp)
  std::shared_ptr<BsendBuffer> bsend;                  // attached to it alone (engine/message/bsend.hpp); nullptr: none
  Activity* activities = nullptr;                      // the newest of those that hold it (engine/message/requests.hpp)
  std::shared_ptr<const Topology> topology;            // nullptr: none; duplicates share it (engine/comm/topology.hpp)
  std::shared_ptr<ft::Circle> circle;                  // its failures, once asked for (engine/object/deaths.hpp)

  /// All there are: also those whose handle has been freed, which messages hold, and parts of other objects, which have
  /// never had one. Touched with the device held.
  static inline Comm* newest = nullptr;
  Comm *older = newest, *newer = nullptr;

  Comm() {
    if (older != nullptr) older->newer = this;
    newest = this;
  }
  ~Comm() {
    (newer != nullptr ? newer->older : newest) = older;
    if (older != nullptr) older->newer = newer;
  }
  Comm(const Comm&) = delete;
  Comm& operator=(const Comm&) = delete;

  bool is_inter() const { return remote != nullptr; }
  int size() const { return group->size(); }
  int remote_size() const { return remote ? remote->size() : group->size(); }
  /// World rank of a rank that messages go to or come from.
  Rank world_of(int r) const { return (remote ? remote : group)->world[r]; }
};

struct Win {
  static constexpr ObjectKind kKind = ObjectKind::win;
  int handle = MPI_WIN_NULL;
  std::unique_ptr<rma::Window> window;  // what it does: rma/window/window.hpp
  Comm* comm = nullptr;                 // of the members, for the window alone, without a handle; referenced
  Errhandler* errhandler = nullptr;     // referenced
  std::string name;
  Attributes attributes;
  Info hints;  // as MPI_Win_get_info shows them
  // What predefined attributes point at.
  MPI_Aint bytes = 0;
  int disp_unit = 1;  // INT_MAX for larger ones, which the attribute's type cannot tell
  int flavor = 0;
  int model = MPI_WIN_UNIFIED;

  Win();
  Win(const Win&) = delete;
  Win& operator=(const Win&) = delete;
  ~Win();
};

}  // namespace rmq::mpi

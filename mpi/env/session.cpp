// SPDX-License-Identifier: BSD-3-Clause
// Chapters 11.3 and 7.4.2: sessions, and communicators from groups without a parent.
//
// A session is a handle with an error handler: what it leads to, process sets, groups and communicators, is what the
// world model has as well. To open one involves nobody else; the first communicator with other ranks connects the job,
// for which ranks wait for each other. design/mpi.md tells how it ends.
#include <fmt/format.h>
#include <strings.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "engine/comm/meeting_place.hpp"
#include "engine/comm/together.hpp"
#include "engine/life/life.hpp"
#include "engine/message/bsend.hpp"
#include "engine/object/deaths.hpp"
#include "engine/worlds/bonds.hpp"
#include "engine/worlds/intercomm.hpp"
#include "mpi/define.hpp"
#include "mpi/env/fortran.hpp"
#include "mpi/env/process_sets.hpp"
#include "mpi/env/sessions.hpp"

namespace rmq::mpi {
namespace {

constexpr const char* kLevelKey = "thread_level";
constexpr std::array<const char*, 4> kLevels{"MPI_THREAD_SINGLE", "MPI_THREAD_FUNNELED", "MPI_THREAD_SERIALIZED",
                                             "MPI_THREAD_MULTIPLE"};
static_assert(MPI_THREAD_SINGLE == 0 && MPI_THREAD_MULTIPLE == 3);

// ---- arguments ----

/// The frame of functions that bring a handler for their errors along.
template <class Body>
int enter_with(MPI_Errhandler handle, Body&& body, Function function = __builtin_FUNCTION()) {
  Runtime& rt = runtime();
  if (!rt.is_active()) detail::refuse(function);
  Errhandler handler = rt.builtin_errhandlers[handle_index(MPI_ERRORS_ARE_FATAL)];
  try {
    adi::Device::Entry entry(*rt.device, function, function.id);
    Errhandler& e = errhandler_arg(handle);
    handler = e;
    body(e);
    return MPI_SUCCESS;
  } catch (const Failure& f) {
    return raise_to(handler, MPI_COMM_NULL, function, f);
  } catch (const std::bad_alloc&) {
    return raise_to(handler, MPI_COMM_NULL, function, Failure{MPI_ERR_NO_MEM, {}, MPI_COMM_NULL});
  }
}

/// The thread level that an info object asks for. Libraries open sessions without knowing of each other, so those that
/// do not say get the highest.
int wanted_level(MPI_Info handle) {
  const Info* info = optional_info_arg(handle);
  if (!info) return MPI_THREAD_MULTIPLE;
  for (const auto& [key, value] : info->entries) {
    if (key != kLevelKey) continue;
    for (std::size_t i = 0; i < kLevels.size(); ++i) {
      if (value == kLevels[i]) return static_cast<int>(i);
    }
    fail_call(MPI_ERR_INFO_VALUE, fmt::format("{}='{}' is no thread level (allowed {} to {})", kLevelKey, value,
                                              kLevels.front(), kLevels.back()));
  }
  return MPI_THREAD_MULTIPLE;
}

MPI_Info new_info(decltype(Info::entries) entries) {
  auto info = std::make_unique<Info>();
  info->entries = std::move(entries);
  return runtime().infos.add(std::move(info))->handle;
}

std::string_view tag_text_arg(const char* stringtag) {
  const std::size_t length = std::strlen(out(stringtag, "stringtag"));
  if (length >= MPI_MAX_STRINGTAG_LEN) {
    fail_call(MPI_ERR_ARG, fmt::format("argument stringtag has {} characters, at most {} are allowed", length,
                                       MPI_MAX_STRINGTAG_LEN - 1));
  }
  return stringtag;
}

/// A group that this rank is a member of.
Group& own_group_arg(MPI_Group handle, const char* name) {
  Group& g = group_arg(handle, name);
  if (g.rank == MPI_UNDEFINED) fail_call(MPI_ERR_GROUP, fmt::format("this rank is not in argument {}", name));
  return g;
}

bool all_has_left(const adi::Device& device) {
  const auto levels = device.levels();
  return levels.messages + levels.packets == 0 &&
         std::all_of(device.methods().begin(), device.methods().end(), [](const auto& m) { return m->drained(); });
}

// ---- communicators ----

/// What a communicator from a group is made with.
struct Agreed {
  Contexts contexts;
  const coll::Terms* terms = nullptr;
};

Agreed agree(MeetingPlace& place, Comm& own) {
  const auto party = [&] { return &own == &place.comm() ? place.party() : whole_party(own); };
  Agreed agreed{mpi::agree_on_contexts(party(), 1)};
  if (runtime().device->any_foreign(own.group->world)) agreed.terms = &agree_on_terms(party());
  return agreed;
}

Comm* create(Group& group, std::string_view tag, Errhandler& errhandler) {
  if (group.size() > 1) connect_job();
  MeetingPlace place(tag, group.world);
  const auto agreed = ft::together<Agreed>(
      place.comm(), [&](Comm& own) { return agree(place, own); },
      [](Agreed& made) {
        for (const std::uint32_t context : made.contexts.list) free_context(context);
      });
  retain(group);
  NewComm made{agreed.contexts[0], &group, nullptr, 0, agreed.terms};
  made.traits = agreed.contexts.traits;
  Comm* c = new_comm(*runtime().world, made);
  release(c->errhandler);
  retain(errhandler);
  c->errhandler = &errhandler;
  return c;
}

void check_for_comms(const Errhandler& e) {
  if (handle_storage(e.handle) == kDynamic && e.action != Errhandler::Action::user_comm) {
    fail_call(MPI_ERR_ARG, "argument errhandler was made for another kind of object");
  }
}

/// Frees a communicator that no user has.
struct Drop {
  void operator()(Comm* c) const { drop_handle(c); }
};

/// Fails with `f`. A communicator that no user has yet is revoked only as a member has died: that is told instead.
[[noreturn]] void fail_as_death(const Failure& f) {
  if (f.code == MPIX_ERR_REVOKED) fail_call(MPIX_ERR_PROC_FAILED, "a member has failed");
  throw f;
}

MPI_Comm create_inter(Group& local, int leader, MPI_Group remote_handle, int remote_leader, std::string_view tag,
                      Errhandler& errhandler) {
  connect_job();
  const adi::Device& device = *runtime().device;
  Rank leaders[2] = {local.world[leader], local.world[leader]};
  std::vector<std::uint64_t> is_met{1};  // whether there is another group
  if (local.rank == leader && remote_handle == MPI_GROUP_EMPTY) {
    is_met[0] = 0;
  } else if (local.rank == leader) {
    const Group& remote = group_arg(remote_handle, "remote_group");
    if (remote_leader < 0 || remote_leader >= remote.size()) {
      fail_call(MPI_ERR_RANK, fmt::format("invalid rank {} (argument remote_leader; allowed 0..{})", remote_leader,
                                          remote.size() - 1));
    }
    leaders[1] = remote.world[remote_leader];
    if (leaders[0] == leaders[1]) {
      fail_call(MPI_ERR_RANK, "local_leader and remote_leader are the same process");
    }
  }
  const auto name = [&](Rank r) {
    const Process who = device.process_of(r);
    return std::pair(who.job, who.rank);
  };
  const bool first = name(leaders[0]) < name(leaders[1]);  // both leaders have the same list
  std::optional<MeetingPlace> place;
  Bridge bridge{true};
  if (local.rank == leader && is_met[0] != 0) {
    place.emplace(tag, first ? Ranks{leaders[0], leaders[1]} : Ranks{leaders[1], leaders[0]});
    bridge = Bridge{true, &place->comm(), first ? 1 : 0, place->tag()};
  }
  std::unique_ptr<Comm, Drop> ours;
  try {
    ours.reset(create(local, tag, errhandler));
    broadcast(party_behind(*ours, leader), is_met);  // the leader alone has been given the other group
  } catch (const Failure& f) {
    if (bridge.comm) static_cast<void>(settle(bridge, &f));     // the other side waits for this one
    if (ours && ft::may_fail()) ft::circle_of(*ours).revoke();  // who has heard from the leader goes on
    fail_as_death(f);
  }
  if (is_met[0] == 0) return MPI_COMM_NULL;
  try {
    return create_intercomm(*ours, leader, bridge);
  } catch (const Failure& f) {
    fail_as_death(f);
  }
}

}  // namespace

// ---- sessions ----

RMQ_MPI(int, Session_init, (MPI_Info info, MPI_Errhandler errhandler, MPI_Session* session)) {
  const Function function = __func__;
  Runtime& rt = runtime();
  Errhandler handler = rt.builtin_errhandlers[handle_index(MPI_ERRORS_ARE_FATAL)];
  try {
    int level = MPI_THREAD_MULTIPLE;
    Failure bad{MPI_SUCCESS, {}, MPI_COMM_NULL};
    enter_any_time([&] {  // looks at objects; their errors are for the handler
                          // that is found here
      try {
        handler = errhandler_arg(errhandler);
        level = wanted_level(info);
        out(session, "session");
      } catch (const Failure& f) {
        bad = f;
      }
    });
    if (bad.code != MPI_SUCCESS) throw bad;
    const std::lock_guard life(life_mutex());
    const bool is_recorded = join_runtime(level, function.id, true);
    tell_fortran();
    finish_at_exit();
    std::optional<adi::Device::Entry> entry;  // else another thread may be in the device that need not let us in
    if (rt.thread_level == MPI_THREAD_MULTIPLE) entry.emplace(*rt.device, function, is_recorded ? 0 : function.id);
    auto made = std::make_unique<Session>();
    Errhandler& e = errhandler_arg(errhandler);
    retain(e);
    made->errhandler = &e;
    *session = rt.sessions.add(std::move(made))->handle;
    return MPI_SUCCESS;
  } catch (const Failure& f) {
    return raise_to(handler, MPI_SESSION_NULL, function, f);
  } catch (const std::bad_alloc&) {
    return raise_to(handler, MPI_SESSION_NULL, function, Failure{MPI_ERR_NO_MEM, {}, MPI_COMM_NULL});
  }
}

RMQ_MPI(int, Session_finalize, (MPI_Session * session)) {
  const int code = enter_session(session ? *session : MPI_SESSION_NULL, [](Session&) {
    drain_bsend_buffers();
    // The program may not call MPI for long, and what it has sent must not wait for that.
    while (!all_has_left(*runtime().device)) runtime().device->MPID_Poll(true);
  });
  if (code != MPI_SUCCESS) return code;
  const std::lock_guard life(life_mutex());
  {
    const adi::Device::Entry entry(*runtime().device);
    Session& s = session_arg(*session);
    release(s.errhandler);
    runtime().sessions.remove(&s);
  }
  *session = MPI_SESSION_NULL;
  leave_runtime();
  return MPI_SUCCESS;
}

RMQ_MPI(int, Session_get_info, (MPI_Session session, MPI_Info* info_used)) {
  return enter_session(session, [&](Session&) {
    *out(info_used, "info_used") = new_info(
        {{kLevelKey, kLevels[static_cast<std::size_t>(runtime().thread_level)]}, {kMemoryKindsKey, kMemoryKinds}});
  });
}

RMQ_MPI(int, Session_get_num_psets, (MPI_Session session, MPI_Info info, int* npset_names)) {
  return enter_session(session, [&](Session&) {
    optional_info_arg(info);
    *out(npset_names, "npset_names") = static_cast<int>(own_process_sets().size());
  });
}

RMQ_MPI(int, Session_get_nth_pset, (MPI_Session session, MPI_Info info, int n, int* pset_len, char* pset_name)) {
  return enter_session(session, [&](Session&) {
    optional_info_arg(info);
    const std::vector<std::string> names = own_process_sets();
    if (n < 0 || n >= std::ssize(names)) {
      fail_call(MPI_ERR_ARG, fmt::format("argument n is {}, allowed 0..{}", n, names.size() - 1));
    }
    const std::string_view name = names[static_cast<std::size_t>(n)];
    if (*out(pset_len, "pset_len") > 0) {  // counts the final zero, in and out
      const std::size_t length = std::min(name.size(), static_cast<std::size_t>(*pset_len - 1));
      out(pset_name, "pset_name")[name.copy(pset_name, length)] = '\0';
    }
    *pset_len = static_cast<int>(name.size() + 1);
  });
}

RMQ_MPI(int, Session_get_pset_info, (MPI_Session session, const char* pset_name, MPI_Info* info)) {
  return enter_session(session, [&](Session&) {
    *out(info, "info") = new_info({{"mpi_size", std::to_string(process_set_arg(pset_name).size())}});
  });
}

RMQ_MPI(int, Group_from_session_pset, (MPI_Session session, const char* pset_name, MPI_Group* newgroup)) {
  return enter_session(session, [&](Session&) {
    *out(newgroup, "newgroup") = MPI_GROUP_NULL;
    *newgroup = new_group(process_set_arg(pset_name), session)->handle;
  });
}

// ---- communicators ----

RMQ_MPI(int, Comm_create_from_group,
        (MPI_Group group, const char* stringtag, MPI_Info info, MPI_Errhandler errhandler, MPI_Comm* newcomm)) {
  return enter_with(errhandler, [&](Errhandler& e) {
    check_for_comms(e);
    *out(newcomm, "newcomm") = MPI_COMM_NULL;
    optional_info_arg(info);
    const std::string_view tag = tag_text_arg(stringtag);
    if (group == MPI_GROUP_EMPTY) return;
    *newcomm = create(own_group_arg(group, "group"), tag, e)->handle;
  });
}

RMQ_MPI(int, Intercomm_create_from_groups,
        (MPI_Group local_group, int local_leader, MPI_Group remote_group, int remote_leader, const char* stringtag,
         MPI_Info info, MPI_Errhandler errhandler, MPI_Comm* newintercomm)) {
  return enter_with(errhandler, [&](Errhandler& e) {
    check_for_comms(e);
    *out(newintercomm, "newintercomm") = MPI_COMM_NULL;
    optional_info_arg(info);
    const std::string_view tag = tag_text_arg(stringtag);
    if (local_group == MPI_GROUP_EMPTY) return;
    Group& local = own_group_arg(local_group, "local_group");
    if (local_leader < 0 || local_leader >= local.size()) {
      fail_call(MPI_ERR_RANK,
                fmt::format("invalid rank {} (argument local_leader; allowed 0..{})", local_leader, local.size() - 1));
    }
    *newintercomm = create_inter(local, local_leader, remote_group, remote_leader, tag, e);
  });
}

}  // namespace rmq::mpi

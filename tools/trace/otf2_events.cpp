// SPDX-License-Identifier: BSD-3-Clause
#include "tools/trace/otf2_events.hpp"

#include <algorithm>

#include "tools/trace/words.hpp"

namespace rmq::trace {
namespace {

constexpr std::uint64_t kExclusive = 2;  // of Event::win_lock

struct Operation {
  std::string_view name;
  OTF2_CollectiveOp op;
};
constexpr Operation kOperations[] = {
    {"Barrier", OTF2_COLLECTIVE_OP_BARRIER},
    {"Bcast", OTF2_COLLECTIVE_OP_BCAST},
    {"Gather", OTF2_COLLECTIVE_OP_GATHER},
    {"Gatherv", OTF2_COLLECTIVE_OP_GATHERV},
    {"Scatter", OTF2_COLLECTIVE_OP_SCATTER},
    {"Scatterv", OTF2_COLLECTIVE_OP_SCATTERV},
    {"Allgather", OTF2_COLLECTIVE_OP_ALLGATHER},
    {"Allgatherv", OTF2_COLLECTIVE_OP_ALLGATHERV},
    {"Alltoall", OTF2_COLLECTIVE_OP_ALLTOALL},
    {"Alltoallv", OTF2_COLLECTIVE_OP_ALLTOALLV},
    {"Alltoallw", OTF2_COLLECTIVE_OP_ALLTOALLW},
    {"Allreduce", OTF2_COLLECTIVE_OP_ALLREDUCE},
    {"Reduce", OTF2_COLLECTIVE_OP_REDUCE},
    {"Reduce_scatter", OTF2_COLLECTIVE_OP_REDUCE_SCATTER},
    {"Reduce_scatter_block", OTF2_COLLECTIVE_OP_REDUCE_SCATTER_BLOCK},
    {"Scan", OTF2_COLLECTIVE_OP_SCAN},
    {"Exscan", OTF2_COLLECTIVE_OP_EXSCAN},
    {"Comm_dup", OTF2_COLLECTIVE_OP_CREATE_HANDLE},
    {"Comm_split", OTF2_COLLECTIVE_OP_CREATE_HANDLE},
    {"Comm_create", OTF2_COLLECTIVE_OP_CREATE_HANDLE},
    {"Win_create", OTF2_COLLECTIVE_OP_CREATE_HANDLE},
    {"Win_allocate", OTF2_COLLECTIVE_OP_CREATE_HANDLE_AND_ALLOCATE},
    {"Win_free", OTF2_COLLECTIVE_OP_DESTROY_HANDLE},
};

bool is_operation(Kind k) {
  return (k >= Kind::RMA_PUT && k <= Kind::RMA_ACK) || k == Kind::RMA_PUT_LIST;
}

}  // namespace

Collective collective_of(std::string_view call) {
  if (call.starts_with("MPI_")) call.remove_prefix(4);
  if (call.ends_with("_c")) call.remove_suffix(2);
  const auto at =
      std::find_if(std::begin(kOperations), std::end(kOperations), [&](const Operation& o) { return o.name == call; });
  if (at == std::end(kOperations)) return {OTF2_COLLECTIVE_OP_BARRIER, false};
  return {at->op, true};
}

Otf2Events::Otf2Events(OTF2_Archive* archive, const std::vector<Recording>& ranks)
    : archive_(archive),
      attributes_(OTF2_AttributeList_New()),
      size_(ranks.front().size),
      next_location_(static_cast<OTF2_LocationRef>(size_)) {
  // Messages go to and come from ranks whose traces are not here: they have to be somewhere.
  for (int rank = 0; rank < size_; ++rank) {
    Rank& r = ranks_[rank];
    r.location = static_cast<OTF2_LocationRef>(rank);
    r.writer = OTF2_Archive_GetEvtWriter(archive, r.location);
  }
}

std::vector<Otf2Events::Location> Otf2Events::locations() const {
  std::vector<Location> all;
  for (const auto& [rank, r] : ranks_) {
    all.push_back({r.location, rank, 0, r.events});
    for (const auto& [number, t] : r.threads) all.push_back({t.location, rank, number, t.events});
  }
  return all;
}

Otf2Events::Thread& Otf2Events::thread(Rank& r, std::uint64_t number) {
  if (number == 0) return r;
  Thread& t = r.threads[number];
  if (t.writer == nullptr) {
    t.location = next_location_++;
    t.writer = OTF2_Archive_GetEvtWriter(archive_, t.location);
  }
  return t;
}

Otf2Events::~Otf2Events() {
  OTF2_AttributeList_Delete(attributes_);
}

void Otf2Events::look(const Entry& e) {
  Rank& r = ranks_.at(e.rank);
  now_ = static_cast<OTF2_TimeStamp>(std::max<std::int64_t>(e.ns, 0));
  last_ = std::max(last_, now_);
  switch (e.record.event) {
    case Event::call_enter:
      r.latest = e.record.a1;
      return enter(thread(r, e.record.a1), static_cast<std::uint32_t>(e.record.a0));
    case Event::call_leave:
      return leave(thread(r, e.record.a1));
    case Event::sleep:
      return sleep(r, true);
    case Event::wake:
      return sleep(r, false);
    case Event::packet_sent:
    case Event::packet_received:
      return packet(r, e);
    default:
      return window(r, e);
  }
}

void Otf2Events::enter(Thread& t, std::uint32_t call) {
  OTF2_EvtWriter_Enter(t.writer, nullptr, now_, regions_(call));
  ++t.events;
  t.calls.push_back({call, 0, 0, 0});
  if (!collective(call).found) return;
  OTF2_EvtWriter_MpiCollectiveBegin(t.writer, nullptr, now_);
  ++t.events;
}

void Otf2Events::leave(Thread& t) {
  if (t.calls.empty()) return;  // a slice of the trace begins inside of the call
  const Call c = t.calls.back();
  t.calls.pop_back();
  if (const Collective& coll = collective(c.id); coll.found) {
    OTF2_EvtWriter_MpiCollectiveEnd(t.writer, nullptr, now_, coll.op, contexts_(c.context & ~1u), OTF2_UNDEFINED_UINT32,
                                    c.sent, c.received);
    ++t.events;
  }
  OTF2_EvtWriter_Leave(t.writer, nullptr, now_, regions_(c.id));
  ++t.events;
}

void Otf2Events::sleep(Rank& r, bool begins) {
  if (r.sleeps == begins) return;
  r.sleeps = begins;
  begins ? OTF2_EvtWriter_Enter(r.writer, nullptr, now_, kSleep)
         : OTF2_EvtWriter_Leave(r.writer, nullptr, now_, kSleep);
  ++r.events;
}

void Otf2Events::packet(Rank& r, const Entry& e) {
  if (e.record.peer < 0 || e.record.peer >= size_) return;  // a process of another job has no place here
  const Packet p = e.packet();
  const auto peer = static_cast<std::uint32_t>(e.record.peer);
  const auto kind = static_cast<std::uint32_t>(p.kind);
  const bool inside = (p.context & 1) != 0;  // of a collective
  if (Thread& t = thread(r, r.latest); inside && begins_message(p.kind) && !t.calls.empty()) {
    Call& c = t.calls.back();
    c.context = p.context;
    (e.sends() ? c.sent : c.received) += p.kind == Kind::REQUEST_SEND ? p.request_send.size : p.length;
  }
  OTF2_AttributeList_AddStringRef(attributes_, kKind, kind);  // strings 1 to 255 name the kinds
  OTF2_AttributeList_AddUint32(attributes_, kMessage, p.msg);
  OTF2_CommRef comm = kPackets;
  std::uint32_t tag = kind;
  std::uint64_t length = p.length;
  if (!inside && begins_message(p.kind)) {
    comm = contexts_(p.context);
    tag = static_cast<std::uint32_t>(p.tag);
    if (p.kind == Kind::REQUEST_SEND) length = p.request_send.size;
  }
  e.sends() ? OTF2_EvtWriter_MpiSend(r.writer, attributes_, now_, peer, comm, tag, length)
            : OTF2_EvtWriter_MpiRecv(r.writer, attributes_, now_, peer, comm, tag, length);
  ++r.events;
  if (is_operation(p.kind)) operation(r, e, p);
}

// An operation where it is issued, and the answer to it.
void Otf2Events::operation(Rank& r, const Entry& e, const Packet& p) {
  const auto peer = static_cast<std::uint32_t>(e.record.peer);
  const bool answer = p.kind == Kind::RMA_REPLY || p.kind == Kind::RMA_ACK;
  if (answer == e.sends()) return;
  const OTF2_RmaWinRef win = use(r, p.context);
  switch (p.kind) {
    case Kind::RMA_PUT:
      OTF2_EvtWriter_RmaPut(r.writer, nullptr, now_, win, peer, p.length, p.rma_put.ticket);
      break;
    case Kind::RMA_PUT_LIST:  // all as one; the offsets and lengths between the data count as well
      OTF2_EvtWriter_RmaPut(r.writer, nullptr, now_, win, peer, p.length, p.rma_put_list.ticket);
      break;
    case Kind::RMA_GET:
      OTF2_EvtWriter_RmaGet(r.writer, nullptr, now_, win, peer, p.rma_get.type == 0 ? p.rma_get.count : 0,
                            p.rma_get.ticket);
      break;
    case Kind::RMA_ACCUMULATE:
      OTF2_EvtWriter_RmaAtomic(r.writer, nullptr, now_, win, peer, OTF2_RMA_ATOMIC_TYPE_ACCUMULATE, p.length, 0,
                               p.rma_accumulate.ticket);
      break;
    case Kind::RMA_GET_ACCUMULATE:
      OTF2_EvtWriter_RmaAtomic(r.writer, nullptr, now_, win, peer, OTF2_RMA_ATOMIC_TYPE_FETCH_AND_ACCUMULATE, p.length,
                               p.length, p.rma_get_accumulate.ticket);
      break;
    case Kind::RMA_FETCH_OP:
      OTF2_EvtWriter_RmaAtomic(r.writer, nullptr, now_, win, peer, OTF2_RMA_ATOMIC_TYPE_FETCH_AND_ACCUMULATE, p.length,
                               p.length, p.rma_fetch_op.ticket);
      break;
    case Kind::RMA_CAS:
      OTF2_EvtWriter_RmaAtomic(r.writer, nullptr, now_, win, peer, OTF2_RMA_ATOMIC_TYPE_COMPARE_AND_SWAP, p.length,
                               p.length / 2, p.rma_cas.ticket);
      break;
    case Kind::RMA_REPLY:
      OTF2_EvtWriter_RmaOpCompleteNonBlocking(r.writer, nullptr, now_, win, p.rma_reply.ticket);
      break;
    default:
      OTF2_EvtWriter_RmaOpCompleteRemote(r.writer, nullptr, now_, win, p.rma_ack.ticket);
  }
  ++r.events;
}

void Otf2Events::window(Rank& r, const Entry& e) {
  const Event event = e.record.event;
  const bool lock_event = event == Event::lock_granted && e.record.a1 == 0;
  if ((event < Event::win_fence || event > Event::win_flush) && !lock_event) return;
  const OTF2_RmaWinRef win = use(r, static_cast<std::uint32_t>(e.record.a0));
  // Who is meant where no rank is named: all of them, for which OTF2 has no word.
  if (e.record.peer >= size_) return;
  const auto peer = static_cast<std::uint32_t>(e.record.peer < 0 ? e.rank : e.record.peer);
  const auto sync = [&](OTF2_RmaSyncType type) { OTF2_EvtWriter_RmaSync(r.writer, nullptr, now_, win, peer, type); };
  switch (event) {
    case Event::win_fence:
      OTF2_EvtWriter_RmaCollectiveBegin(r.writer, nullptr, now_);
      OTF2_EvtWriter_RmaCollectiveEnd(r.writer, nullptr, now_, OTF2_COLLECTIVE_OP_BARRIER,
                                      OTF2_RMA_SYNC_LEVEL_PROCESS | OTF2_RMA_SYNC_LEVEL_MEMORY, win,
                                      OTF2_UNDEFINED_UINT32, 0, 0);
      ++r.events;
      break;
    case Event::win_post:
    case Event::win_complete:
      sync(OTF2_RMA_SYNC_TYPE_NOTIFY_OUT);
      break;
    case Event::win_start:
    case Event::win_wait:
      sync(OTF2_RMA_SYNC_TYPE_NOTIFY_IN);
      break;
    case Event::win_lock:
      r.locks[{win, peer}] = e.record.a1 == kExclusive ? OTF2_LOCK_EXCLUSIVE : OTF2_LOCK_SHARED;
      OTF2_EvtWriter_RmaRequestLock(r.writer, nullptr, now_, win, peer, 0, r.locks[{win, peer}]);
      break;
    case Event::lock_granted: {
      const auto type = r.locks.try_emplace({win, peer}, OTF2_LOCK_SHARED).first->second;  // lock_all is shared
      OTF2_EvtWriter_RmaAcquireLock(r.writer, nullptr, now_, win, peer, 0, type);
      break;
    }
    case Event::win_unlock:
      OTF2_EvtWriter_RmaReleaseLock(r.writer, nullptr, now_, win, peer, 0);
      break;
    default:
      sync(OTF2_RMA_SYNC_TYPE_MEMORY);
  }
  ++r.events;
}

OTF2_RmaWinRef Otf2Events::use(Rank& r, std::uint32_t window) {
  const OTF2_RmaWinRef win = windows_(window);
  if (!r.windows.insert(win).second) return win;
  OTF2_EvtWriter_RmaWinCreate(r.writer, nullptr, now_, win);
  ++r.events;
  return win;
}

const Collective& Otf2Events::collective(std::uint32_t call) {
  const auto known = collectives_.find(call);
  return known != collectives_.end() ? known->second
                                     : collectives_.try_emplace(call, collective_of(call_name(call))).first->second;
}

void Otf2Events::close() {
  now_ = last_;
  for (auto& [rank, r] : ranks_) {
    for (const OTF2_RmaWinRef w : r.windows) {
      OTF2_EvtWriter_RmaWinDestroy(r.writer, nullptr, now_, w);
      ++r.events;
    }
    sleep(r, false);
    const auto end = [this](Thread& t) {
      while (!t.calls.empty()) leave(t);
      OTF2_Archive_CloseEvtWriter(archive_, t.writer);
    };
    end(r);
    for (auto& [number, t] : r.threads) end(t);
  }
}

}  // namespace rmq::trace

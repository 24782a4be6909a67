// SPDX-License-Identifier: BSD-3-Clause
// Chapter 15.3.7: performance variables. Each is a number that the device keeps anyway, or can add up when it is asked;
// what a handle adds is where it started to count. So nothing is paid where messages come and go.
#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "mpi/define.hpp"
#include "mpi/tool/tool_pvars.hpp"

struct MPIR_T_pvar_handle_s {
  int index = -1;
  bool counts = false;       // started; a continuous variable always is
  std::uint64_t before = 0;  // counted until it was stopped, or as written
  std::uint64_t since = 0;   // what the device said when it was started
};
struct MPIR_T_pvar_session_s {
  std::vector<std::unique_ptr<MPIR_T_pvar_handle_s>> handles;
};

namespace {
MPIR_T_pvar_handle_s all_handles;  // only its address means anything
}
extern "C" {
struct MPIR_T_pvar_handle_s* const MPI_T_PVAR_ALL_HANDLES = &all_handles;
}

namespace rmq::mpi::tool {
namespace {

using adi::Device;
using methods::MethodId;
using Handle = MPIR_T_pvar_handle_s;

constexpr PerformanceVariable kVariables[] = {
    {"rmq_packets_sent", Category::messages, MPI_T_PVAR_CLASS_COUNTER, "packets sent",
     [](const Device& d) { return d.counters().sent; }},
    {"rmq_packets_received", Category::messages, MPI_T_PVAR_CLASS_COUNTER, "packets received",
     [](const Device& d) { return d.counters().received; }},
#define RMQ_METHOD(name, number, what)                                                               \
  {"rmq_messages_sent_" #name, Category::name, MPI_T_PVAR_CLASS_COUNTER, "messages sent over " what, \
   [](const Device& d) { return d.messages_by(MethodId::name); }},
#define RMQ_OTHER_METHOD(name, number)
#include "methods/methods.def"
#undef RMQ_METHOD
#undef RMQ_OTHER_METHOD
    {"rmq_messages_sent_self", Category::messages, MPI_T_PVAR_CLASS_COUNTER, "messages that the rank sent to itself",
     [](const Device& d) { return d.messages_by(MethodId::self); }},
    {"rmq_posted_queue_length", Category::messages, MPI_T_PVAR_CLASS_LEVEL, "receives that no message has matched yet",
     [](const Device& d) -> std::uint64_t { return d.posted(); }},
    {"rmq_unexpected_queue_length", Category::messages, MPI_T_PVAR_CLASS_LEVEL,
     "messages that no receive has matched yet", [](const Device& d) -> std::uint64_t { return d.unexpected(); }},
    {"rmq_unexpected_messages", Category::messages, MPI_T_PVAR_CLASS_COUNTER, "messages that came before their receive",
     [](const Device& d) { return d.counters().unexpected; }},
    {"rmq_unexpected_bytes", Category::messages, MPI_T_PVAR_CLASS_LEVEL,
     "memory that unexpected messages fill, records included (bytes)",
     [](const Device& d) { return d.counters().unexpected_bytes; }},
    {"rmq_unexpected_bytes_peak", Category::messages, MPI_T_PVAR_CLASS_HIGHWATERMARK,
     "most memory that unexpected messages have filled (bytes)",
     [](const Device& d) { return d.counters().unexpected_peak; }},
    {"rmq_unexpected_bytes_limit", Category::messages, MPI_T_PVAR_CLASS_SIZE,
     "most memory that unexpected messages can fill: the credit of all ranks (bytes)",
     [](const Device& d) { return d.unexpected_ceiling(); }},
    {"rmq_stalls", Category::messages, MPI_T_PVAR_CLASS_COUNTER,
     "messages that could not leave at once, for want of credit or room in the link",
     [](const Device& d) { return d.counters().pending; }},
    {"rmq_pending_queue_length", Category::messages, MPI_T_PVAR_CLASS_LEVEL,
     "messages that wait for credit or room in the link", [](const Device& d) { return d.levels().messages; }},
    {"rmq_link_queue_length", Category::messages, MPI_T_PVAR_CLASS_LEVEL,
     "other packets that wait for room in the link", [](const Device& d) { return d.levels().packets; }},
    {"rmq_envelopes_granted", Category::messages, MPI_T_PVAR_CLASS_COUNTER,
     "envelopes that this rank has allowed others beyond their credit",
     [](const Device& d) { return d.counters().envelopes_granted; }},
    {"rmq_protocol_errors", Category::messages, MPI_T_PVAR_CLASS_COUNTER, "packets that made no sense",
     [](const Device& d) { return d.counters().protocol_errors; }},
    {"rmq_ranks_lost", Category::messages, MPI_T_PVAR_CLASS_LEVEL, "ranks that cannot be reached any more",
     [](const Device& d) { return d.levels().lost; }},
    {"rmq_waits", Category::waiting, MPI_T_PVAR_CLASS_COUNTER, "calls that have had to wait",
     [](const Device& d) { return d.waits(); }},
    {"rmq_sleeps", Category::waiting, MPI_T_PVAR_CLASS_COUNTER, "times that an idle rank has gone to sleep",
     [](const Device& d) { return d.counters().sleeps; }},
};

/// What counts can be started, stopped, and set; everything else is as it is.
bool is_counter(const PerformanceVariable& v) {
  return v.var_class == MPI_T_PVAR_CLASS_COUNTER;
}

std::uint64_t now(int index) {
  Runtime& rt = runtime();
  if (!rt.device) return 0;
  std::optional<Device::Entry> entry;
  // Below that level it may be another thread than the one that calls MPI, and the number a little old.
  if (rt.is_active() && rt.thread_level == MPI_THREAD_MULTIPLE) entry.emplace(*rt.device, "MPI_T_pvar_read");
  return kVariables[index].value(*rt.device);
}

std::uint64_t value(const Handle& h) {
  return h.before + (h.counts ? now(h.index) - h.since : 0);
}
void restart(Handle& h, std::uint64_t from) {
  h.before = from;
  if (h.counts) h.since = now(h.index);
}

std::vector<std::unique_ptr<MPIR_T_pvar_session_s>>& sessions() {
  static auto* const all = new std::vector<std::unique_ptr<MPIR_T_pvar_session_s>>;  // never destroyed
  return *all;
}

MPIR_T_pvar_session_s& session_arg(MPI_T_pvar_session session) {
  for (const auto& s : sessions()) {
    if (s.get() == session) return *s;
  }
  refuse(MPI_T_ERR_INVALID_SESSION);
}

Handle& handle_arg(const MPIR_T_pvar_session_s& session, MPI_T_pvar_handle handle) {
  for (const auto& h : session.handles) {
    if (h.get() == handle) return *h;
  }
  refuse(MPI_T_ERR_INVALID_HANDLE);
}

/// Does it to one handle, or to all of the session for which it makes sense.
template <class Do>
int each(MPI_T_pvar_session session, MPI_T_pvar_handle handle, int otherwise, Do&& act) {
  return enter([&]() -> int {
    MPIR_T_pvar_session_s& s = session_arg(session);
    const bool all = handle == MPI_T_PVAR_ALL_HANDLES;
    if (!all && !is_counter(kVariables[handle_arg(s, handle).index])) return otherwise;
    for (const auto& h : s.handles) {
      if ((all || h.get() == handle) && is_counter(kVariables[h->index])) act(*h);
    }
    return MPI_SUCCESS;
  });
}

void store(void* to, std::uint64_t value) {
  const unsigned long long number = value;
  std::memcpy(needed(to), &number, sizeof number);
}

}  // namespace

std::span<const PerformanceVariable> performance_variables() {
  return kVariables;
}

void end_pvar_sessions() {
  sessions().clear();
}

RMQ_MPI(int, T_pvar_get_num, (int* num_pvar)) {
  return enter([&] {
    *needed(num_pvar) = static_cast<int>(std::size(kVariables));
    return MPI_SUCCESS;
  });
}

RMQ_MPI(int, T_pvar_get_info,
        (int pvar_index, char* name, int* name_len, int* verbosity, int* var_class, MPI_Datatype* datatype,
         MPI_T_enum* enumtype, char* desc, int* desc_len, int* bind, int* readonly, int* continuous, int* atomic)) {
  return enter([&] {
    const PerformanceVariable& v = at(performance_variables(), pvar_index);
    put_text(name, name_len, v.name);
    put_text(desc, desc_len, v.meaning);
    put(verbosity, MPI_T_VERBOSITY_USER_DETAIL);
    put(var_class, v.var_class);
    put(datatype, MPI_UNSIGNED_LONG_LONG);
    put(enumtype, MPI_T_ENUM_NULL);
    put(bind, MPI_T_BIND_NO_OBJECT);
    put(readonly, is_counter(v) ? 0 : 1);
    put(continuous, is_counter(v) ? 0 : 1);
    put(atomic, is_counter(v) ? 1 : 0);
    return MPI_SUCCESS;
  });
}

RMQ_MPI(int, T_pvar_get_index, (const char* name, int var_class, int* pvar_index)) {
  return enter([&] {
    *needed(pvar_index) = index_of(kVariables, name, [&](const auto& v) { return v.var_class == var_class; });
    return MPI_SUCCESS;
  });
}

RMQ_MPI(int, T_pvar_session_create, (MPI_T_pvar_session * session)) {
  return enter([&] {
    needed(session);
    sessions().push_back(std::make_unique<MPIR_T_pvar_session_s>());
    *session = sessions().back().get();
    return MPI_SUCCESS;
  });
}

RMQ_MPI(int, T_pvar_session_free, (MPI_T_pvar_session * session)) {
  return enter([&] {
    const auto* const gone = &session_arg(*needed(session));
    std::erase_if(sessions(), [&](const auto& s) { return s.get() == gone; });
    *session = MPI_T_PVAR_SESSION_NULL;
    return MPI_SUCCESS;
  });
}

RMQ_MPI(int, T_pvar_handle_alloc,
        (MPI_T_pvar_session session, int pvar_index, void*, MPI_T_pvar_handle* handle, int* count)) {
  return enter([&] {
    MPIR_T_pvar_session_s& s = session_arg(session);
    const PerformanceVariable& v = at(performance_variables(), pvar_index);
    auto made = std::make_unique<Handle>();
    made->index = pvar_index;
    made->counts = !is_counter(v);
    *needed(handle) = made.get();
    s.handles.push_back(std::move(made));
    put(count, 1);
    return MPI_SUCCESS;
  });
}

RMQ_MPI(int, T_pvar_handle_free, (MPI_T_pvar_session session, MPI_T_pvar_handle* handle)) {
  return enter([&] {
    MPIR_T_pvar_session_s& s = session_arg(session);
    const Handle* const gone = &handle_arg(s, *needed(handle));
    std::erase_if(s.handles, [&](const auto& h) { return h.get() == gone; });
    *handle = MPI_T_PVAR_HANDLE_NULL;
    return MPI_SUCCESS;
  });
}

RMQ_MPI(int, T_pvar_start, (MPI_T_pvar_session session, MPI_T_pvar_handle handle)) {
  return each(session, handle, MPI_T_ERR_PVAR_NO_STARTSTOP, [](Handle& h) {
    if (h.counts) return;
    h.counts = true;
    h.since = now(h.index);
  });
}

RMQ_MPI(int, T_pvar_stop, (MPI_T_pvar_session session, MPI_T_pvar_handle handle)) {
  return each(session, handle, MPI_T_ERR_PVAR_NO_STARTSTOP, [](Handle& h) {
    h.before = value(h);
    h.counts = false;
  });
}

RMQ_MPI(int, T_pvar_reset, (MPI_T_pvar_session session, MPI_T_pvar_handle handle)) {
  return each(session, handle, MPI_T_ERR_PVAR_NO_WRITE, [](Handle& h) { restart(h, 0); });
}

RMQ_MPI(int, T_pvar_read, (MPI_T_pvar_session session, MPI_T_pvar_handle handle, void* buf)) {
  return enter([&] {
    store(buf, value(handle_arg(session_arg(session), handle)));
    return MPI_SUCCESS;
  });
}

RMQ_MPI(int, T_pvar_write, (MPI_T_pvar_session session, MPI_T_pvar_handle handle, const void* buf)) {
  return enter([&]() -> int {
    Handle& h = handle_arg(session_arg(session), handle);
    if (!is_counter(kVariables[h.index])) return MPI_T_ERR_PVAR_NO_WRITE;
    unsigned long long number;
    std::memcpy(&number, needed(buf), sizeof number);
    restart(h, number);
    return MPI_SUCCESS;
  });
}

RMQ_MPI(int, T_pvar_readreset, (MPI_T_pvar_session session, MPI_T_pvar_handle handle, void* buf)) {
  return enter([&]() -> int {
    Handle& h = handle_arg(session_arg(session), handle);
    if (!is_counter(kVariables[h.index])) return MPI_T_ERR_PVAR_NO_ATOMIC;
    const std::uint64_t total = h.counts ? now(h.index) : 0;
    store(buf, h.before + (h.counts ? total - h.since : 0));
    h.before = 0;
    h.since = total;
    return MPI_SUCCESS;
  });
}

}  // namespace rmq::mpi::tool

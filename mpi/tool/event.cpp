// SPDX-License-Identifier: BSD-3-Clause
// Chapter 15.3.8: events. They are what the recorder sees, and happen where it sees them, in the device: a callback may
// call nothing of MPI but the functions on its instance (MPI_T_CB_REQUIRE_MPI_RESTRICTED), and with several threads
// come from any of them (MPI_T_CB_REQUIRE_THREAD_SAFE). Without a registration the recorder is as it is; with the
// first, it leaves its short ways. The tools interface may be called by any thread, also where MPI may not, and its
// registrations have a lock of their own.
#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "engine/life/life.hpp"
#include "mpi/define.hpp"
#include "mpi/tool/tool_events.hpp"

struct MPIR_T_event_registration_s {
  struct Callback {
    MPI_T_event_cb_function* function = nullptr;
    void* user_data = nullptr;
  };
  int index;
  std::array<Callback, MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE + 1> callbacks = {};  // by what they are safe for
  MPI_T_event_dropped_cb_function* on_dropped = nullptr;
  MPI_Count dropped = 0;  // that no callback could be called for, and nobody has been told of
};

/// An event that happens, during its callback.
struct MPIR_T_event_instance_s {
  const rmq::EventKind* kind;
  const rmq::TraceRecord* record;
};

namespace rmq::mpi::tool {
namespace {

using Registration = MPIR_T_event_registration_s;
using Instance = MPIR_T_event_instance_s;

constexpr int kSource = 0;  // the recorder, the only one

/// The instance whose callback runs on this thread.
thread_local const Instance* happening = nullptr;

class Registrations final : public TraceListener {
 public:
  std::vector<std::unique_ptr<Registration>> all;
  std::recursive_mutex mutex;  // behind the device, where that is held; recursive: there are events in a callback

  void on_event(const TraceRecord& r) override {
    const std::lock_guard lock(mutex);
    for (const auto& registration : all) {
      const EventKind& kind = event_kinds()[static_cast<std::size_t>(registration->index)];
      if (kind.event == r.event) happen(*registration, Instance{&kind, &r});
    }
  }

 private:
  static void happen(Registration& r, const Instance& instance) {
    const bool several = runtime().device->threads();
    const int least = several ? MPI_T_CB_REQUIRE_THREAD_SAFE : MPI_T_CB_REQUIRE_MPI_RESTRICTED;
    const bool has_any = std::any_of(r.callbacks.begin(), r.callbacks.end(), [](const auto& c) { return c.function; });
    const auto fits =
        std::find_if(r.callbacks.begin() + least, r.callbacks.end(), [](const auto& c) { return c.function; });
    if (!has_any) return;
    if (fits == r.callbacks.end() || in_callback) {  // none is safe here; or an event in a callback
      ++r.dropped;
      return;
    }
    const auto safety = static_cast<MPI_T_cb_safety>(least);
    in_callback = true;
    if (r.dropped > 0 && r.on_dropped) r.on_dropped(std::exchange(r.dropped, 0), &r, kSource, safety, fits->user_data);
    happening = &instance;
    fits->function(const_cast<Instance*>(&instance), &r, safety, fits->user_data);
    happening = nullptr;
    in_callback = false;
  }
};

Registrations& registrations() {
  static auto* const one = new Registrations;  // never destroyed, like the runtime
  return *one;
}

/// The device is there: events that are registered already happen from now on. The device held.
void start_events() {
  if (!registrations().all.empty()) runtime().device->listen(&registrations());
}

/// Runs `change` while no event happens; from then on the device tells of events if anybody listens.
template <class Change>
int with_registrations(Change&& change) {
  return enter([&]() -> int {
    Runtime& rt = runtime();
    std::optional<adi::Device::Entry> entry;
    if (rt.device && rt.thread_level == MPI_THREAD_MULTIPLE) entry.emplace(*rt.device);
    const std::lock_guard lock(registrations().mutex);
    const int code = change(registrations());
    if (rt.device) rt.device->listen(registrations().all.empty() ? nullptr : &registrations());
    return code;
  });
}

Registration& registration_arg(MPI_T_event_registration handle) {
  for (const auto& r : registrations().all) {
    if (r.get() == handle) return *r;
  }
  refuse(MPI_T_ERR_INVALID_HANDLE);
}

/// For functions on an instance: in its callback alone, which holds the device, and so not behind our lock.
template <class Body>
int enter_instance(MPI_T_event_instance instance, Body&& body) {
  if (instance == nullptr || instance != happening) return MPI_T_ERR_INVALID_HANDLE;
  try {
    return body(*instance);
  } catch (const Failure& f) {
    return f.code;
  } catch (const std::bad_alloc&) {
    return MPI_T_ERR_MEMORY;
  }
}

int safety_arg(MPI_T_cb_safety safety) {
  if (safety < MPI_T_CB_REQUIRE_NONE || safety > MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE) refuse(MPI_T_ERR_INVALID);
  return safety;
}

int empty_info(MPI_Info* info) {
  return info ? PMPI_Info_create(info) : MPI_SUCCESS;
}

std::string description(const EventKind& kind) {
  std::string text(kind.meaning);
  const char* before = " (";
  for (const EventElement& e : elements_of(kind)) {
    text += before + std::string(e.name);
    before = ", ";
  }
  return text + ")";
}

const EventKind& event_arg(int index) {
  return at(event_kinds(), index);
}

/// A handle's last drops, and its end. `told`: nothing of the device is held.
int free_registration(MPI_T_event_registration handle, void* user_data, MPI_T_event_free_cb_function* on_free) {
  std::unique_ptr<Registration> gone;
  const int code = with_registrations([&](Registrations& r) {
    Registration& found = registration_arg(handle);
    const auto place = std::find_if(r.all.begin(), r.all.end(), [&](const auto& p) { return p.get() == &found; });
    gone = std::move(*place);
    r.all.erase(place);
    return MPI_SUCCESS;
  });
  if (code != MPI_SUCCESS) return code;
  if (gone->dropped > 0 && gone->on_dropped)
    gone->on_dropped(gone->dropped, gone.get(), kSource, MPI_T_CB_REQUIRE_NONE, user_data);
  if (on_free) on_free(gone.get(), MPI_T_CB_REQUIRE_NONE, user_data);
  return MPI_SUCCESS;
}

}  // namespace

void end_event_handles() {
  Runtime& rt = runtime();
  std::optional<adi::Device::Entry> entry;
  if (rt.device && rt.thread_level == MPI_THREAD_MULTIPLE) entry.emplace(*rt.device);
  const std::lock_guard lock(registrations().mutex);
  registrations().all.clear();
  if (rt.device) rt.device->listen(nullptr);
}

// ---- kinds ----

RMQ_MPI(int, T_event_get_num, (int* num_events)) {
  return enter([&] {
    *needed(num_events) = static_cast<int>(event_kinds().size());
    return MPI_SUCCESS;
  });
}

RMQ_MPI(int, T_event_get_info,
        (int event_index, char* name, int* name_len, int* verbosity, MPI_Datatype array_of_datatypes[],
         MPI_Aint array_of_displacements[], int* num_elements, MPI_T_enum* enumtype, MPI_Info* info, char* desc,
         int* desc_len, int* bind)) {
  return enter([&]() -> int {
    const EventKind& kind = event_arg(event_index);
    put_text(name, name_len, event_name(kind));
    put_text(desc, desc_len, description(kind));
    put(verbosity, is_detail(kind.event) ? MPI_T_VERBOSITY_MPIDEV_DETAIL : MPI_T_VERBOSITY_TUNER_DETAIL);
    put(enumtype, MPI_T_ENUM_NULL);
    put(bind, MPI_T_BIND_NO_OBJECT);
    const auto elements = elements_of(kind);
    if (num_elements) {  // in: room in both arrays, out: how many there are
      for (int i = 0; i < std::min<int>(*num_elements, static_cast<int>(elements.size())); ++i) {
        const EventElement& e = elements[static_cast<std::size_t>(i)];
        if (array_of_datatypes) array_of_datatypes[i] = e.type;
        if (array_of_displacements) array_of_displacements[i] = e.at;
      }
      *num_elements = static_cast<int>(elements.size());
    }
    return empty_info(info);
  });
}

RMQ_MPI(int, T_event_get_index, (const char* name, int* event_index)) {
  return enter([&]() -> int {
    if (!name) return MPI_T_ERR_INVALID_NAME;
    for (int i = 0; i < std::ssize(event_kinds()); ++i) {
      if (event_name(event_arg(i)) != name) continue;
      *needed(event_index) = i;
      return MPI_SUCCESS;
    }
    return MPI_T_ERR_INVALID_NAME;
  });
}

// ---- registrations ----

RMQ_MPI(int, T_event_handle_alloc, (int event_index, void*, MPI_Info, MPI_T_event_registration* event_registration)) {
  return with_registrations([&](Registrations& r) {
    event_arg(event_index), needed(event_registration);
    on_device.store(start_events, std::memory_order_release);
    r.all.push_back(std::make_unique<Registration>(Registration{event_index}));
    *event_registration = r.all.back().get();
    return MPI_SUCCESS;
  });
}

RMQ_MPI(int, T_event_handle_free,
        (MPI_T_event_registration event_registration, void* user_data, MPI_T_event_free_cb_function free_cb_function)) {
  return free_registration(event_registration, user_data, free_cb_function);
}

RMQ_MPI(int, T_event_handle_set_info, (MPI_T_event_registration event_registration, MPI_Info)) {
  return with_registrations([&](Registrations&) { return registration_arg(event_registration), MPI_SUCCESS; });
}

RMQ_MPI(int, T_event_handle_get_info, (MPI_T_event_registration event_registration, MPI_Info* info_used)) {
  const int code =
      with_registrations([&](Registrations&) { return registration_arg(event_registration), MPI_SUCCESS; });
  return code != MPI_SUCCESS ? code : empty_info(info_used);
}

RMQ_MPI(int, T_event_register_callback,
        (MPI_T_event_registration event_registration, MPI_T_cb_safety cb_safety, MPI_Info, void* user_data,
         MPI_T_event_cb_function event_cb_function)) {
  return with_registrations([&](Registrations&) {
    registration_arg(event_registration).callbacks[static_cast<std::size_t>(safety_arg(cb_safety))] = {
        event_cb_function, user_data};
    return MPI_SUCCESS;
  });
}

RMQ_MPI(int, T_event_callback_set_info,
        (MPI_T_event_registration event_registration, MPI_T_cb_safety cb_safety, MPI_Info)) {
  return with_registrations(
      [&](Registrations&) { return registration_arg(event_registration), safety_arg(cb_safety), MPI_SUCCESS; });
}

RMQ_MPI(int, T_event_callback_get_info,
        (MPI_T_event_registration event_registration, MPI_T_cb_safety cb_safety, MPI_Info* info_used)) {
  const int code = with_registrations(
      [&](Registrations&) { return registration_arg(event_registration), safety_arg(cb_safety), MPI_SUCCESS; });
  return code != MPI_SUCCESS ? code : empty_info(info_used);
}

RMQ_MPI(int, T_event_set_dropped_handler,
        (MPI_T_event_registration event_registration, MPI_T_event_dropped_cb_function dropped_cb_function)) {
  return with_registrations([&](Registrations&) {
    registration_arg(event_registration).on_dropped = dropped_cb_function;
    return MPI_SUCCESS;
  });
}

// ---- instances ----

RMQ_MPI(int, T_event_read, (MPI_T_event_instance event_instance, int element_index, void* buffer)) {
  return enter_instance(event_instance, [&](const Instance& i) {
    const EventElement e = at(elements_of(*i.kind), element_index);
    const EventData data = data_of(*i.record);
    std::memcpy(needed(buffer), reinterpret_cast<const std::byte*>(&data) + e.at,
                e.type == MPI_INT ? sizeof(int) : sizeof(std::uint64_t));
    return MPI_SUCCESS;
  });
}

RMQ_MPI(int, T_event_copy, (MPI_T_event_instance event_instance, void* buffer)) {
  return enter_instance(event_instance, [&](const Instance& i) {
    // As far as the elements reach, and no byte beyond: the program has no more room than it was told of.
    const EventData data = data_of(*i.record);
    for (const EventElement& e : elements_of(*i.kind)) {
      std::memcpy(static_cast<std::byte*>(needed(buffer)) + e.at, reinterpret_cast<const std::byte*>(&data) + e.at,
                  e.type == MPI_INT ? sizeof(int) : sizeof(std::uint64_t));
    }
    return MPI_SUCCESS;
  });
}

RMQ_MPI(int, T_event_get_timestamp, (MPI_T_event_instance event_instance, MPI_Count* event_timestamp)) {
  return enter_instance(event_instance, [&](const Instance& i) {
    *needed(event_timestamp) = static_cast<MPI_Count>(i.record->ticks);
    return MPI_SUCCESS;
  });
}

RMQ_MPI(int, T_event_get_source, (MPI_T_event_instance event_instance, int* source_index)) {
  return enter_instance(event_instance, [&](const Instance&) {
    *needed(source_index) = kSource;
    return MPI_SUCCESS;
  });
}

// ---- their source ----

RMQ_MPI(int, T_source_get_num, (int* num_sources)) {
  return enter([&] {
    *needed(num_sources) = 1;
    return MPI_SUCCESS;
  });
}

RMQ_MPI(int, T_source_get_info,
        (int source_index, char* name, int* name_len, char* desc, int* desc_len, MPI_T_source_order* ordering,
         MPI_Count* ticks_per_second, MPI_Count* max_ticks, MPI_Info* info)) {
  return enter([&]() -> int {
    if (source_index != kSource) return MPI_T_ERR_INVALID_INDEX;
    put_text(name, name_len, "rmq_recorder");
    put_text(desc, desc_len, "what the recorder of the device sees, by CLOCK_MONOTONIC");
    put(ordering, MPI_T_SOURCE_ORDERED);
    put(ticks_per_second, MPI_Count{1000000000});
    put(max_ticks, std::numeric_limits<MPI_Count>::max());
    return empty_info(info);
  });
}

// Also for callbacks, and so not behind our lock.
RMQ_MPI(int, T_source_get_timestamp, (int source_index, MPI_Count* timestamp)) {
  if (source_index != kSource) return MPI_T_ERR_INVALID_INDEX;
  if (!timestamp) return MPI_T_ERR_INVALID;
  *timestamp = static_cast<MPI_Count>(os::now_ns());
  return MPI_SUCCESS;
}

}  // namespace rmq::mpi::tool

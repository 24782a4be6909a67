// SPDX-License-Identifier: BSD-3-Clause
// ranks: 2
// Events of the tools interface: what they are, that each callback is called for its own, with the right data and a
// time that grows; what is dropped, and said; that nothing happens after.
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "check.hpp"

namespace {

struct Element {
  std::string name;
  MPI_Datatype type;
  MPI_Aint at;
};
struct Kind {
  int index = -1;
  std::string description;
  std::vector<Element> elements;
};

Kind kind(const char* name) {
  Kind k;
  CHECK(MPI_T_event_get_index(name, &k.index) == MPI_SUCCESS);
  char text[512], back[64];
  int room = sizeof text, name_room = sizeof back, verbosity = 0, n = 16, bind = -1;
  MPI_Datatype types[16];
  MPI_Aint at[16];
  MPI_T_enum items;
  MPI_Info info;
  CHECK(MPI_T_event_get_info(k.index, back, &name_room, &verbosity, types, at, &n, &items, &info, text, &room, &bind) ==
        MPI_SUCCESS);
  MPI_Info_free(&info);
  CHECK(std::strcmp(name, back) == 0 && bind == MPI_T_BIND_NO_OBJECT && verbosity >= MPI_T_VERBOSITY_USER_BASIC);
  k.description = text;
  // The description ends with the elements' names.
  const std::string names = k.description.substr(k.description.rfind('(') + 1);
  std::size_t begin = 0;
  for (int i = 0; i < n; ++i) {
    const std::size_t end = names.find_first_of(",)", begin);
    k.elements.push_back({names.substr(begin, end - begin), types[i], at[i]});
    begin = end + 2;
  }
  return k;
}

int place(const Kind& k, const char* element) {
  for (std::size_t i = 0; i < k.elements.size(); ++i) {
    if (k.elements[i].name == element) return static_cast<int>(i);
  }
  CHECK(!"the element is there");
  return 0;
}

struct Heard {
  const Kind* kind;
  int calls = 0;
  int with_tag = 0;  // of those: packets with tag 77
  int peer = -1;
  std::uint64_t bytes = 0;
  MPI_Count last = 0;
  bool grows = true, shut_out = true;
  MPI_T_cb_safety safety = MPI_T_CB_REQUIRE_NONE;
};

extern "C" void on_packet(MPI_T_event_instance event, MPI_T_event_registration, MPI_T_cb_safety safety, void* user) {
  auto& heard = *static_cast<Heard*>(user);
  ++heard.calls;
  heard.safety = safety;
  MPI_Count time = 0;
  int source = -1, tag = -1;
  if (MPI_T_event_get_timestamp(event, &time) != MPI_SUCCESS || time < heard.last) heard.grows = false;
  heard.last = time;
  if (MPI_T_event_get_source(event, &source) != MPI_SUCCESS || source != 0) heard.grows = false;
  // What could wait for itself here says so.
  int n = 0, provided = 0;
  MPI_T_event_registration other = nullptr;
  if (MPI_T_pvar_get_num(&n) != MPI_T_ERR_NOT_ACCESSIBLE || MPI_T_finalize() != MPI_T_ERR_NOT_ACCESSIBLE ||
      MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) != MPI_T_ERR_NOT_ACCESSIBLE ||
      MPI_T_event_handle_alloc(heard.kind->index, nullptr, MPI_INFO_NULL, &other) != MPI_T_ERR_NOT_ACCESSIBLE)
    heard.shut_out = false;
  MPI_T_event_read(event, place(*heard.kind, "tag"), &tag);
  if (tag != 77) return;
  ++heard.with_tag;
  MPI_T_event_read(event, place(*heard.kind, "peer"), &heard.peer);
  // The whole at once says the same.
  std::vector<unsigned char> all(256);
  MPI_T_event_copy(event, all.data());
  std::memcpy(&heard.bytes, all.data() + heard.kind->elements[static_cast<std::size_t>(place(*heard.kind, "bytes"))].at,
              sizeof heard.bytes);
}

int freed = 0;
extern "C" void on_free(MPI_T_event_registration, MPI_T_cb_safety, void* user) {
  freed += *static_cast<int*>(user);
}

MPI_Count dropped = 0;
extern "C" void on_dropped(MPI_Count count, MPI_T_event_registration, int source, MPI_T_cb_safety, void*) {
  dropped += source == 0 ? count : -1000;
}

void exchange(int bytes) {
  std::vector<char> out(static_cast<std::size_t>(bytes)), in(out.size());
  const int other = 1 - check::rank();
  MPI_Sendrecv(out.data(), bytes, MPI_CHAR, other, 77, in.data(), bytes, MPI_CHAR, other, 77, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
}

}  // namespace

int main(int argc, char** argv) {
  int provided, n = 0;
  MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
  MPI_T_event_get_num(&n);
  int room = 0;
  char name[64];
  MPI_Count ticks = 0, most = 0, now = 0;
  MPI_T_source_order order;
  room = sizeof name;
  // Registered before MPI_Init: it counts from there on.
  int sent_index = -1;
  MPI_T_event_get_index("rmq_packet_sent", &sent_index);
  MPI_T_event_registration sent = nullptr, received = nullptr, none = nullptr;
  MPI_T_event_handle_alloc(sent_index, nullptr, MPI_INFO_NULL, &sent);

  MPI_Init(&argc, &argv);
  CHECK(n > 20);
  CHECK(MPI_T_source_get_info(0, name, &room, nullptr, nullptr, &order, &ticks, &most, nullptr) == MPI_SUCCESS);
  CHECK(order == MPI_T_SOURCE_ORDERED && ticks == 1000000000 && most > 0);
  CHECK(MPI_T_source_get_info(1, name, &room, nullptr, nullptr, &order, &ticks, &most, nullptr) ==
        MPI_T_ERR_INVALID_INDEX);
  for (int i = 0; i < n; ++i) {
    room = sizeof name;
    int verbosity, elements = 0, index = -1;
    MPI_T_event_get_info(i, name, &room, &verbosity, nullptr, nullptr, &elements, nullptr, nullptr, nullptr, nullptr,
                         nullptr);
    CHECK(MPI_T_event_get_index(name, &index) == MPI_SUCCESS && index == i && elements >= 2);
  }
  const Kind packet = kind("rmq_packet_sent"), arrival = kind("rmq_packet_received");
  Heard out{&packet}, in{&arrival};
  MPI_T_event_register_callback(sent, MPI_T_CB_REQUIRE_THREAD_SAFE, MPI_INFO_NULL, &out, on_packet);
  MPI_T_event_handle_alloc(arrival.index, nullptr, MPI_INFO_NULL, &received);
  MPI_T_event_register_callback(received, MPI_T_CB_REQUIRE_THREAD_SAFE, MPI_INFO_NULL, &in, on_packet);
  MPI_T_event_handle_alloc(packet.index, nullptr, MPI_INFO_NULL, &none);
  MPI_T_event_set_dropped_handler(none, on_dropped);
  MPI_T_event_register_callback(none, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, nullptr, on_packet);

  MPI_T_source_get_timestamp(0, &now);
  for (int i = 0; i < 5; ++i) exchange(100);
  CHECK(out.with_tag == 5 && in.with_tag == 5 && out.grows && in.grows && out.last >= now);
  CHECK(out.shut_out && in.shut_out);
  CHECK(out.peer == 1 - check::rank() && in.peer == out.peer && out.bytes == 100 && in.bytes == 100);
  CHECK(out.safety >= MPI_T_CB_REQUIRE_MPI_RESTRICTED && out.safety <= MPI_T_CB_REQUIRE_THREAD_SAFE);

  MPI_Barrier(MPI_COMM_WORLD);  // the next message comes when both have looked

  // Outside of a callback there is no instance.
  int value;
  CHECK(MPI_T_event_read(nullptr, 0, &value) == MPI_T_ERR_INVALID_HANDLE);

  int one = 1;
  CHECK(MPI_T_event_handle_free(sent, &one, on_free) == MPI_SUCCESS && freed == 1);
  CHECK(MPI_T_event_handle_free(sent, &one, on_free) == MPI_T_ERR_INVALID_HANDLE && freed == 1);
  // A callback that is safe for nothing cannot be called in the device: all was dropped.
  CHECK(MPI_T_event_handle_free(none, nullptr, nullptr) == MPI_SUCCESS && dropped >= 5);
  exchange(100);
  CHECK(out.with_tag == 5 && in.with_tag == 6);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_T_event_handle_free(received, nullptr, nullptr);
  const int calls = in.calls;
  exchange(100);
  CHECK(in.calls == calls);
  MPI_T_finalize();
  return check::finish();
}

// SPDX-License-Identifier: BSD-3-Clause
// ranks: 2
// The tools interface: control variables before, in and after MPI, performance variables, categories, enumerations, and
// what it refuses.
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "check.hpp"

namespace {

int bad = 0;  // before MPI_Init there is no rank to tell

void expect(bool good, const char* what) {
  if (good) return;
  ++bad;
  std::fprintf(stderr, "not so: %s\n", what);
}
#define EXPECT(condition) expect((condition), #condition)

struct Info {
  std::string name, description;
  int verbosity, bind, scope;
  MPI_Datatype type;
  MPI_T_enum items;
};
Info info_of(int index) {
  Info i;
  int name_room = 0, text_room = 0;
  EXPECT(MPI_T_cvar_get_info(index, nullptr, &name_room, nullptr, nullptr, nullptr, nullptr, &text_room, nullptr,
                             nullptr) == MPI_SUCCESS);
  std::vector<char> name(static_cast<std::size_t>(name_room)), text(static_cast<std::size_t>(text_room));
  MPI_T_cvar_get_info(index, name.data(), &name_room, &i.verbosity, &i.type, &i.items, text.data(), &text_room, &i.bind,
                      &i.scope);
  i.name = name.data();
  i.description = text.data();
  EXPECT(i.name.size() + 1 == name.size() && i.description.size() + 1 == text.size());
  return i;
}

int cvar(const char* name) {
  int index = -1;
  EXPECT(MPI_T_cvar_get_index(name, &index) == MPI_SUCCESS);
  return index;
}

unsigned long long number(const char* name) {
  MPI_T_cvar_handle h;
  int count;
  unsigned long long value = 0;
  EXPECT(MPI_T_cvar_handle_alloc(cvar(name), nullptr, &h, &count) == MPI_SUCCESS && count == 1);
  EXPECT(MPI_T_cvar_read(h, &value) == MPI_SUCCESS);
  MPI_T_cvar_handle_free(&h);
  EXPECT(h == MPI_T_CVAR_HANDLE_NULL);
  return value;
}
int write(const char* name, const void* value) {
  MPI_T_cvar_handle h;
  int count;
  MPI_T_cvar_handle_alloc(cvar(name), nullptr, &h, &count);
  const int code = MPI_T_cvar_write(h, value);
  MPI_T_cvar_handle_free(&h);
  return code;
}

void control_variables_before() {
  int n = 0;
  EXPECT(MPI_T_cvar_get_num(&n) == MPI_SUCCESS && n > 20);
  std::set<std::string> names;
  for (int i = 0; i < n; ++i) {
    const Info info = info_of(i);
    EXPECT(names.insert(info.name).second && cvar(info.name.c_str()) == i);
    EXPECT(!info.description.empty() && info.bind == MPI_T_BIND_NO_OBJECT);
    EXPECT(info.scope == MPI_T_SCOPE_LOCAL || info.scope == MPI_T_SCOPE_ALL_EQ);
    EXPECT((info.items != MPI_T_ENUM_NULL) == (info.type == MPI_INT));
  }
  EXPECT(info_of(cvar("RMQ_COLL")).scope == MPI_T_SCOPE_ALL_EQ && info_of(cvar("RMQ_SPIN")).scope == MPI_T_SCOPE_LOCAL);
  EXPECT(info_of(cvar("RMQ_COLL")).type == MPI_CHAR);
  EXPECT(number("RMQ_UNEXPECTED_MAX") == 32 * 1024 * 1024);  // the environment's: main() has set it
  // What is written takes effect.
  const unsigned long long eager = 100, unexpected = 16 * 1024 * 1024;
  EXPECT(write("RMQ_EAGER_MAX", &eager) == MPI_SUCCESS && number("RMQ_EAGER_MAX") == 100);
  EXPECT(write("RMQ_UNEXPECTED_MAX", &unexpected) == MPI_SUCCESS);
  const int off = 0, neither = 7;
  EXPECT(write("RMQ_GET_MODE", &off) == MPI_SUCCESS);
  EXPECT(write("RMQ_GET_MODE", &neither) == MPI_T_ERR_INVALID);
  EXPECT(write("RMQ_COLL", "barrier=tree") == MPI_SUCCESS);
}

void control_variables_later() {
  EXPECT(number("RMQ_EAGER_MAX") == 100 && number("RMQ_UNEXPECTED_MAX") == 16 * 1024 * 1024);
  const unsigned long long eager = 200;
  EXPECT(write("RMQ_EAGER_MAX", &eager) == MPI_T_ERR_CVAR_SET_NOT_NOW && number("RMQ_EAGER_MAX") == 100);
  EXPECT(info_of(cvar("RMQ_EAGER_MAX")).scope == MPI_T_SCOPE_READONLY);
  MPI_T_cvar_handle h;
  int count;
  MPI_T_cvar_handle_alloc(cvar("RMQ_COLL"), nullptr, &h, &count);
  std::vector<char> text(static_cast<std::size_t>(count));
  EXPECT(MPI_T_cvar_read(h, text.data()) == MPI_SUCCESS && std::strcmp(text.data(), "barrier=tree") == 0);
  MPI_T_cvar_handle copy = h;
  MPI_T_cvar_handle_free(&h);
  EXPECT(MPI_T_cvar_read(copy, text.data()) == MPI_T_ERR_INVALID_HANDLE);
}

void enumerations() {
  const MPI_T_enum flag = info_of(cvar("RMQ_GET_MODE")).items;
  int n = 0, room = 10, value = -1;
  char name[10];
  EXPECT(MPI_T_enum_get_info(flag, &n, name, &room) == MPI_SUCCESS && n == 2 && std::strcmp(name, "flag") == 0);
  room = 10;
  EXPECT(MPI_T_enum_get_item(flag, 1, &value, name, &room) == MPI_SUCCESS && value == 1 &&
         std::strcmp(name, "on") == 0);
  EXPECT(MPI_T_enum_get_item(flag, 2, &value, name, &room) == MPI_T_ERR_INVALID_ITEM);
  EXPECT(MPI_T_enum_get_info(MPI_T_ENUM_NULL, &n, name, &room) == MPI_T_ERR_INVALID_HANDLE);
}

void categories() {
  int n = 0, cvars = 0, pvars = 0, all_cvars = 0, all_pvars = 0, all_events = 0, index, changed = -1;
  MPI_T_category_get_num(&n);
  std::set<int> seen_cvars, seen_pvars, seen_events;
  for (int i = 0; i < n; ++i) {
    int mine_cvars, mine_pvars, below, events = -1;
    char name[64];
    int room = sizeof name;
    EXPECT(MPI_T_category_get_info(i, name, &room, nullptr, nullptr, &mine_cvars, &mine_pvars, &below) == MPI_SUCCESS);
    EXPECT(MPI_T_category_get_index(name, &index) == MPI_SUCCESS && index == i);
    std::vector<int> list(static_cast<std::size_t>(mine_cvars + mine_pvars + below + 1));
    MPI_T_category_get_cvars(i, mine_cvars, list.data());
    seen_cvars.insert(list.begin(), list.begin() + mine_cvars);
    MPI_T_category_get_pvars(i, mine_pvars, list.data());
    seen_pvars.insert(list.begin(), list.begin() + mine_pvars);
    EXPECT(MPI_T_category_get_categories(i, below, list.data()) == MPI_SUCCESS && (below == n - 1) == (i == 0));
    EXPECT(MPI_T_category_get_num_events(i, &events) == MPI_SUCCESS);
    list.resize(static_cast<std::size_t>(events + 1));
    EXPECT(MPI_T_category_get_events(i, events, list.data()) == MPI_SUCCESS);
    for (int e = 0; e < events; ++e) EXPECT(seen_events.insert(list[static_cast<std::size_t>(e)]).second);
    cvars += mine_cvars;
    pvars += mine_pvars;
  }
  MPI_T_cvar_get_num(&all_cvars);
  MPI_T_pvar_get_num(&all_pvars);
  MPI_T_event_get_num(&all_events);
  EXPECT(all_events > 0 && std::ssize(seen_events) == all_events);
  EXPECT(cvars == all_cvars && std::ssize(seen_cvars) == cvars && pvars == all_pvars &&
         std::ssize(seen_pvars) == pvars);
  EXPECT(MPI_T_category_get_cvars(n, 0, nullptr) == MPI_T_ERR_INVALID_INDEX);
  EXPECT(MPI_T_category_changed(&changed) == MPI_SUCCESS);
}

struct Variable {
  MPI_T_pvar_session session;
  MPI_T_pvar_handle handle;
  Variable(MPI_T_pvar_session s, const char* name, int var_class) : session(s) {
    int index = -1, count = 0;
    EXPECT(MPI_T_pvar_get_index(name, var_class, &index) == MPI_SUCCESS);
    EXPECT(MPI_T_pvar_handle_alloc(s, index, nullptr, &handle, &count) == MPI_SUCCESS && count == 1);
  }
  unsigned long long read() const {
    unsigned long long value = 0;
    EXPECT(MPI_T_pvar_read(session, handle, &value) == MPI_SUCCESS);
    return value;
  }
};

/// Rank 1 sends rank 0 messages that it does not expect.
void performance_variables() {
  constexpr int kMessages = 10;
  MPI_T_pvar_session s;
  EXPECT(MPI_T_pvar_session_create(&s) == MPI_SUCCESS);
  const Variable sent(s, "rmq_packets_sent", MPI_T_PVAR_CLASS_COUNTER);
  const Variable shm(s, "rmq_messages_sent_shm", MPI_T_PVAR_CLASS_COUNTER);
  const Variable tcp(s, "rmq_messages_sent_tcp", MPI_T_PVAR_CLASS_COUNTER);
  const Variable kept(s, "rmq_unexpected_queue_length", MPI_T_PVAR_CLASS_LEVEL);
  const Variable bytes(s, "rmq_unexpected_bytes", MPI_T_PVAR_CLASS_LEVEL);
  const Variable posted(s, "rmq_posted_queue_length", MPI_T_PVAR_CLASS_LEVEL);
  const Variable peak(s, "rmq_unexpected_bytes_peak", MPI_T_PVAR_CLASS_HIGHWATERMARK);
  const Variable limit(s, "rmq_unexpected_bytes_limit", MPI_T_PVAR_CLASS_SIZE);
  EXPECT(limit.read() == 16 * 1024 * 1024);
  EXPECT(sent.read() == 0);  // not started
  EXPECT(MPI_T_pvar_start(s, kept.handle) == MPI_T_ERR_PVAR_NO_STARTSTOP);
  EXPECT(MPI_T_pvar_reset(s, kept.handle) == MPI_T_ERR_PVAR_NO_WRITE);
  unsigned long long value = 5;
  EXPECT(MPI_T_pvar_write(s, kept.handle, &value) == MPI_T_ERR_PVAR_NO_WRITE);
  EXPECT(MPI_T_pvar_readreset(s, kept.handle, &value) == MPI_T_ERR_PVAR_NO_ATOMIC);
  EXPECT(MPI_T_pvar_start(s, MPI_T_PVAR_ALL_HANDLES) == MPI_SUCCESS);
  char data[50] = {};
  MPI_Request never;
  MPI_Irecv(data, 1, MPI_CHAR, MPI_ANY_SOURCE, 99, MPI_COMM_SELF, &never);
  EXPECT(posted.read() >= 1);
  if (check::rank() == 1) {
    for (int i = 0; i < kMessages; ++i) MPI_Send(data, sizeof data, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
    EXPECT(sent.read() >= kMessages && shm.read() + tcp.read() >= kMessages);
    EXPECT(shm.read() == 0 || tcp.read() == 0);
    MPI_T_pvar_stop(s, sent.handle);
    const auto until_now = sent.read();
    MPI_Send(data, 0, MPI_CHAR, 0, 2, MPI_COMM_WORLD);
    EXPECT(sent.read() == until_now);
    MPI_T_pvar_start(s, sent.handle);
    EXPECT(MPI_T_pvar_readreset(s, sent.handle, &value) == MPI_SUCCESS && value == until_now && sent.read() == 0);
    value = 1000;
    EXPECT(MPI_T_pvar_write(s, sent.handle, &value) == MPI_SUCCESS && sent.read() == 1000);
    MPI_Recv(data, 0, MPI_CHAR, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);  // nothing of MPI_Finalize comes before
  } else {
    MPI_Recv(data, 0, MPI_CHAR, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    EXPECT(kept.read() == kMessages && bytes.read() >= kMessages * sizeof data && peak.read() >= bytes.read());
    for (int i = 0; i < kMessages; ++i) MPI_Recv(data, sizeof data, MPI_CHAR, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    EXPECT(kept.read() == 0 && bytes.read() == 0 && peak.read() > 0);
    MPI_Send(data, 0, MPI_CHAR, 1, 3, MPI_COMM_WORLD);
  }
  MPI_Cancel(&never);
  MPI_Wait(&never, MPI_STATUS_IGNORE);
  MPI_T_pvar_handle gone = sent.handle;
  EXPECT(MPI_T_pvar_handle_free(s, &gone) == MPI_SUCCESS && gone == MPI_T_PVAR_HANDLE_NULL);
  EXPECT(MPI_T_pvar_read(s, sent.handle, &value) == MPI_T_ERR_INVALID_HANDLE);
  EXPECT(MPI_T_pvar_read(s, MPI_T_PVAR_ALL_HANDLES, &value) == MPI_T_ERR_INVALID_HANDLE);
  MPI_T_pvar_session other = s;
  MPI_T_pvar_session_free(&s);
  EXPECT(MPI_T_pvar_read(other, kept.handle, &value) == MPI_T_ERR_INVALID_SESSION);
}

}  // namespace

int main(int argc, char** argv) {
  setenv("RMQ_UNEXPECTED_MAX", "32M", 1);
  int n, provided;
  EXPECT(MPI_T_cvar_get_num(&n) == MPI_T_ERR_NOT_INITIALIZED);
  EXPECT(MPI_T_finalize() == MPI_T_ERR_NOT_INITIALIZED);
  EXPECT(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided) == MPI_SUCCESS && provided == MPI_THREAD_MULTIPLE);
  control_variables_before();
  EXPECT(MPI_T_cvar_get_index("RMQ_NOTHING", &n) == MPI_T_ERR_INVALID_NAME);
  EXPECT(MPI_T_cvar_get_info(1000, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr) ==
         MPI_T_ERR_INVALID_INDEX);
  MPI_Init(&argc, &argv);
  MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
  control_variables_later();
  enumerations();
  categories();
  performance_variables();
  MPI_T_finalize();
  MPI_Finalize();
  EXPECT(number("RMQ_EAGER_MAX") == 100);
  MPI_T_finalize();
  EXPECT(MPI_T_cvar_get_num(&n) == MPI_T_ERR_NOT_INITIALIZED);
  return bad + check::failures ? 1 : 0;
}

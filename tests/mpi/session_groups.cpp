// SPDX-License-Identifier: BSD-3-Clause
// ranks: 4
// Sessions without MPI_Init, one after the other and several at once, with the world model among them and after it:
// process sets, communicators from groups whose members alone call, by string tag; error handlers.
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "check.hpp"

namespace {

int handled = 0, handled_class = 0;

void on_error(MPI_Session*, int* code, ...) {
  ++handled;
  handled_class = check::class_of(*code);
}

MPI_Session begin(const char* level = nullptr) {
  MPI_Info info = MPI_INFO_NULL;
  if (level) {
    MPI_Info_create(&info);
    MPI_Info_set(info, "thread_level", level);
  }
  MPI_Session s = MPI_SESSION_NULL;
  CHECK(MPI_Session_init(info, MPI_ERRORS_RETURN, &s) == MPI_SUCCESS && s != MPI_SESSION_NULL);
  if (level) MPI_Info_free(&info);
  return s;
}

void end(MPI_Session& s) {
  const int code = MPI_Session_finalize(&s);  // afterwards there is perhaps no MPI to check with
  if (code != MPI_SUCCESS || s != MPI_SESSION_NULL) ++check::failures;
}

MPI_Group set(MPI_Session s, const char* name) {
  MPI_Group g = MPI_GROUP_NULL;
  CHECK(MPI_Group_from_session_pset(s, name, &g) == MPI_SUCCESS);
  return g;
}

MPI_Comm make(MPI_Group g, const char* tag) {
  MPI_Comm c = MPI_COMM_NULL;
  CHECK(MPI_Comm_create_from_group(g, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &c) == MPI_SUCCESS);
  return c;
}

/// Whether all of the communicator's ranks take part, and no other messages come between.
void use(MPI_Comm c) {
  int sum = 0;
  const int mine = check::rank(c) + 1;
  CHECK(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, c) == MPI_SUCCESS);
  CHECK(sum == check::size(c) * (check::size(c) + 1) / 2);
  int got = -1;
  const int next = (check::rank(c) + 1) % check::size(c),
            before = (check::rank(c) + check::size(c) - 1) % check::size(c);
  MPI_Sendrecv(&mine, 1, MPI_INT, next, 0, &got, 1, MPI_INT, before, 0, c, MPI_STATUS_IGNORE);
  CHECK(got == before + 1);
}

MPI_Comm world_of(MPI_Session s, const char* tag) {
  MPI_Group g = set(s, "mpi://WORLD");
  MPI_Comm c = make(g, tag);
  MPI_Group_free(&g);
  return c;
}

void process_sets(MPI_Session s) {
  int n = 0;
  bool world = false, self = false;
  MPI_Session_get_num_psets(s, MPI_INFO_NULL, &n);
  for (int i = 0; i < n; ++i) {
    int room = 0, flag = 0;
    MPI_Session_get_nth_pset(s, MPI_INFO_NULL, i, &room, nullptr);
    std::vector<char> name(static_cast<std::size_t>(room));
    MPI_Session_get_nth_pset(s, MPI_INFO_NULL, i, &room, name.data());
    CHECK(std::strlen(name.data()) + 1 == name.size());
    world |= std::strcmp(name.data(), "mpi://WORLD") == 0;
    self |= std::strcmp(name.data(), "mpi://SELF") == 0;
    MPI_Info info;
    char text[16];
    MPI_Session_get_pset_info(s, name.data(), &info);
    MPI_Info_get(info, "mpi_size", sizeof text - 1, text, &flag);
    MPI_Info_free(&info);
    MPI_Group g = set(s, name.data());
    int size = 0;
    MPI_Group_size(g, &size);
    CHECK(flag && std::stoi(text) == size);
    MPI_Group_free(&g);
  }
  CHECK(world && self);
  MPI_Info info;
  char level[32];
  int flag = 0;
  MPI_Session_get_info(s, &info);
  MPI_Info_get(info, "thread_level", sizeof level - 1, level, &flag);
  MPI_Info_free(&info);
  CHECK(flag && std::strcmp(level, "MPI_THREAD_MULTIPLE") == 0);
}

/// Pairs {r, r + 1}: each rank calls for its own two only, even ones for the upper pair first.
void some_ranks(MPI_Session s) {
  MPI_Group world = set(s, "mpi://WORLD");
  int rank, size;
  MPI_Group_rank(world, &rank);
  MPI_Group_size(world, &size);
  const auto pair = [&](int lower) {
    if (lower < 0 || lower + 1 >= size) return;
    const int members[2] = {lower + 1, lower};
    MPI_Group g;
    MPI_Group_incl(world, 2, members, &g);
    MPI_Comm c = make(g, "pair");
    CHECK(check::rank(c) == (rank == lower ? 1 : 0));
    use(c);
    MPI_Comm_free(&c);
    MPI_Group_free(&g);
  };
  for (const int lower : rank % 2 == 0 ? std::vector<int>{rank, rank - 1} : std::vector<int>{rank - 1, rank})
    pair(lower);
  MPI_Comm none = MPI_COMM_WORLD;
  CHECK(MPI_Comm_create_from_group(MPI_GROUP_EMPTY, "none", MPI_INFO_NULL, MPI_ERRORS_RETURN, &none) == MPI_SUCCESS);
  CHECK(none == MPI_COMM_NULL);
  // Where there is no other group to meet, what the leader alone has to know, nobody waits for it.
  const auto meets_nobody = [&](MPI_Group ours, MPI_Group theirs) {
    MPI_Comm inter = MPI_COMM_WORLD;
    CHECK(MPI_Intercomm_create_from_groups(ours, 0, theirs, 0, "none", MPI_INFO_NULL, MPI_ERRORS_RETURN, &inter) ==
          MPI_SUCCESS);
    CHECK(inter == MPI_COMM_NULL);
  };
  MPI_Group self;
  MPI_Group_incl(world, 1, &rank, &self);
  meets_nobody(MPI_GROUP_EMPTY, MPI_GROUP_EMPTY);
  meets_nobody(MPI_GROUP_EMPTY, self);
  meets_nobody(self, MPI_GROUP_EMPTY);
  meets_nobody(world, rank == 0 ? MPI_GROUP_EMPTY : MPI_GROUP_NULL);
  MPI_Group_free(&self);
  MPI_Group_free(&world);
}

/// Threads that make communicators of the same ranks at once, kept apart by the tag alone.
void by_tag(MPI_Session s) {
  MPI_Group g = set(s, "mpi://WORLD");
  int rank;
  MPI_Group_rank(g, &rank);
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([=] {
      for (int round = 0; round < 5; ++round) {
        MPI_Comm c = make(g, ("tag " + std::to_string((rank + i) % 3)).c_str());
        use(c);
        MPI_Comm_free(&c);
      }
    });
  }
  for (std::thread& t : threads) t.join();
  MPI_Group_free(&g);
}

void inter(MPI_Session s) {
  MPI_Group world = set(s, "mpi://world"), low, high;
  int ranks[2][3] = {{0, 0, 1}, {1, 3, 1}};
  int rank;
  MPI_Group_rank(world, &rank);
  MPI_Group_range_incl(world, 1, &ranks[0], &low);
  MPI_Group_range_incl(world, 1, &ranks[1], &high);
  MPI_Comm c = MPI_COMM_NULL;
  // Only leaders know the other side.
  const bool leads = rank == 0 || rank == 3;
  CHECK(MPI_Intercomm_create_from_groups(rank == 0 ? low : high, rank == 0 ? 0 : 2,
                                         !leads      ? MPI_GROUP_NULL
                                         : rank == 0 ? high
                                                     : low,
                                         rank == 0 ? 2 : 0, "inter", MPI_INFO_NULL, MPI_ERRORS_RETURN,
                                         &c) == MPI_SUCCESS);
  int flag = 0, remote = 0, sum = -1;
  MPI_Comm_test_inter(c, &flag);
  MPI_Comm_remote_size(c, &remote);
  CHECK(flag && remote == (rank == 0 ? 3 : 1));
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, c);
  CHECK(sum == (rank == 0 ? 6 : 0));
  MPI_Comm_free(&c);
  for (MPI_Group* g : {&world, &low, &high}) MPI_Group_free(g);
}

void errors(MPI_Session s) {
  MPI_Group g = MPI_GROUP_NULL;
  MPI_Comm c;
  CHECK_CLASS(MPI_Group_from_session_pset(s, "mpi://NOBODY", &g), MPI_ERR_ARG);
  CHECK(g == MPI_GROUP_NULL && handled == 0);
  MPI_Errhandler h, got;
  CHECK(MPI_Session_create_errhandler(on_error, &h) == MPI_SUCCESS);
  MPI_Session_set_errhandler(s, h);
  MPI_Session_get_errhandler(s, &got);
  CHECK(got == h);
  MPI_Errhandler_free(&got);
  CHECK_CLASS(MPI_Group_from_session_pset(s, "mpi://NOBODY", &g), MPI_ERR_ARG);
  CHECK(handled == 1 && handled_class == MPI_ERR_ARG);
  CHECK(MPI_Session_call_errhandler(s, MPI_ERR_IO) == MPI_SUCCESS);
  CHECK(handled == 2 && handled_class == MPI_ERR_IO);
  CHECK_CLASS(MPI_Session_call_errhandler(s, -1), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Session_get_errhandler(s, nullptr), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Session_set_errhandler(s, MPI_ERRHANDLER_NULL), MPI_ERR_ERRHANDLER);
  CHECK(handled == 5 && handled_class == MPI_ERR_ERRHANDLER);
  MPI_Session_set_errhandler(s, MPI_ERRORS_RETURN);
  g = set(s, "mpi://SELF");
  handled = 0;
  MPI_Comm_create_from_group(g, "x", MPI_INFO_NULL, h, &c);  // a handler of sessions, which hears of it
  CHECK(handled == 1 && handled_class == MPI_ERR_ARG);
  MPI_Errhandler_free(&h);
  CHECK_CLASS(MPI_Comm_create_from_group(MPI_GROUP_NULL, "x", MPI_INFO_NULL, MPI_ERRORS_RETURN, &c), MPI_ERR_GROUP);
  CHECK_CLASS(MPI_Comm_create_from_group(g, std::string(300, 'x').c_str(), MPI_INFO_NULL, MPI_ERRORS_RETURN, &c),
              MPI_ERR_ARG);
  c = make(g, "self");
  MPI_Errhandler returns;
  MPI_Comm_get_errhandler(c, &returns);
  CHECK(returns == MPI_ERRORS_RETURN && check::size(c) == 1);
  CHECK_CLASS(MPI_Send(nullptr, 0, MPI_INT, 1, 0, c), MPI_ERR_RANK);
  MPI_Comm_free(&c);
  MPI_Group_free(&g);
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "thread_level", "some");
  MPI_Session t;
  CHECK_CLASS(MPI_Session_init(info, MPI_ERRORS_RETURN, &t), MPI_ERR_INFO_VALUE);
  MPI_Info_free(&info);
}

bool initialized() {
  int flag;
  MPI_Initialized(&flag);
  return flag != 0;
}
bool finalized() {
  int flag;
  MPI_Finalized(&flag);
  return flag != 0;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Errhandler early;
  if (MPI_Session_create_errhandler(on_error, &early) != MPI_SUCCESS) return 1;
  MPI_Errhandler_free(&early);

  for (int life = 0; life < 2; ++life) {
    MPI_Session s = begin("MPI_THREAD_MULTIPLE");
    CHECK(!initialized());
    process_sets(s);
    some_ranks(s);
    by_tag(s);
    inter(s);
    MPI_Session other = begin();
    MPI_Comm a = world_of(s, "a"), b = world_of(other, "b");
    use(a);
    use(b);
    MPI_Comm_free(&b);
    end(other);
    use(a);
    errors(s);
    handled = 0;
    MPI_Comm_free(&a);
    end(s);
  }

  MPI_Session s = begin();
  MPI_Comm c = world_of(s, "before");
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SINGLE, &provided);
  CHECK(initialized() && provided == MPI_THREAD_MULTIPLE);
  use(MPI_COMM_WORLD);
  use(c);
  MPI_Comm_free(&c);
  end(s);
  use(MPI_COMM_WORLD);
  s = begin();
  c = world_of(s, "around");
  MPI_Finalize();
  CHECK(finalized());
  use(c);
  MPI_Comm_free(&c);
  end(s);
  s = begin();
  c = world_of(s, "after");
  use(c);
  MPI_Comm_free(&c);
  end(s);
  return check::failures ? 1 : 0;
}

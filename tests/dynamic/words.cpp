// SPDX-License-Identifier: BSD-3-Clause
// What rmq/spawn.hpp hands over: words with blanks, quotes, line feeds, bytes of no UTF-8, and of no length; variables
// for all and for one, long ones too; input and output of each; the codes of more processes than anybody has counted
// on; events in the order in which they happen; signals; a launcher that a FIFO does not stop. One rank.
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <rmq/spawn.hpp>
#include <string>
#include <vector>

#include "check.h"

namespace {

const std::vector<std::string> kWords = {
    "", "two words", "'quoted' \"twice\"", "line\nfeed", "\xff\xfe\x80 latin \xe9", "", "$HOME * ; \\"};
const std::string kLong(5000, 'x');
const std::string kLines = "first\n\n third=\n";

int child(int argc, char** argv) {
  MPI_Comm parent;
  int rank, wrong = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_get_parent(&parent);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  wrong += argc != static_cast<int>(kWords.size()) + 2;
  for (std::size_t i = 0; i < kWords.size() && wrong == 0; ++i) wrong += kWords[i] != argv[i + 2];
  const auto is = [](const char* name, const std::string& value) {
    const char* const text = std::getenv(name);
    return text && value == text;
  };
  wrong += !is("ALL", kLines) + !is("LONG", kLong) + !is("EMPTY", "") + !is("BYTES", "\xff\xc3\x28");
  wrong += rank == 1 ? !is("OWN", kLines + kLong) : std::getenv("OWN") != nullptr;
  char line[64] = "";
  wrong += rank == 0 ? std::fgets(line, sizeof line, stdin) != nullptr  // it has no input
                     : !std::fgets(line, sizeof line, stdin) || std::strcmp(line, "for the second\n") != 0;
  std::printf("rank %d", rank);
  std::fflush(stdout);
  MPI_Reduce(&wrong, nullptr, 1, MPI_INT, MPI_SUM, 0, parent);
  MPI_Comm_disconnect(&parent);
  MPI_Finalize();
  return 20 + rank;
}

std::string read_all(int fd) {
  std::string text;
  char bytes[256];
  for (ssize_t got; (got = ::read(fd, bytes, sizeof bytes)) > 0;) text.append(bytes, static_cast<std::size_t>(got));
  return text;
}

void hand_over(char* self) {
  int outputs[2][2], input[2];
  if (::pipe(outputs[0]) != 0 || ::pipe(outputs[1]) != 0 || ::pipe(input) != 0) std::abort();
  std::vector<std::string> words = {"child"};
  words.insert(words.end(), kWords.begin(), kWords.end());
  rmq::Spawn spawn;
  auto& program = spawn.program(self, words, 2).env("ALL", kLines).env("LONG", kLong).env("EMPTY", "");
  program.env("BYTES", "\xff\xc3\x28").env_of(1, "OWN", kLines + kLong);
  char path[64];
  rmq_pipe_path(input[0], path, sizeof path);
  program.input_of(1, path);
  for (int i = 0; i < 2; ++i) program.output_of_to(i, outputs[i][1]);
  rmq::SpawnedWorld world = spawn.start(MPI_COMM_SELF);
  for (auto& ends : outputs) ::close(ends[1]);
  CHECK(::write(input[1], "for the second\n", 15) == 15);
  int nothing = 0, wrong = -1;
  MPI_Reduce(&nothing, &wrong, 1, MPI_INT, MPI_SUM, MPI_ROOT, world.comm());
  CHECK(wrong == 0);
  world.disconnect();
  CHECK((world.wait() == std::vector<int>{20, 21}));
  CHECK(read_all(outputs[0][0]) == "rank 0" && read_all(outputs[1][0]) == "rank 1");
  for (const int fd : {outputs[0][0], outputs[1][0], input[0], input[1]}) ::close(fd);
}

// Programs that know nothing of MPI. The last one to end is the first that returns something: that ends what is left.
void look_after() {
  constexpr int kMany = 300;
  int input[2];
  if (::pipe(input) != 0) std::abort();
  char path[64];
  rmq_pipe_path(input[0], path, sizeof path);
  rmq::Spawn spawn;
  auto& numbered = spawn.program("sh", {"-c", "[ $NUMBER = 17 ] && read -r line && exit 9; exit 0"}, kMany);
  for (int i = 0; i < kMany; ++i) numbered.env_of(i, "NUMBER", std::to_string(i));
  numbered.input_of(17, path);
  rmq::SpawnedWorld world = spawn.start_apart();
  std::vector<int> seen(kMany, -1);
  int events = 0;
  const std::vector<int> codes = world.wait([&](const rmq::JobEvent& e) {
    CHECK(e.kind == RMQ_EVENT_ENDED && seen[static_cast<std::size_t>(e.rank)] == -1);
    seen[static_cast<std::size_t>(e.rank)] = e.code;
    if (++events == kMany - 1) CHECK(::write(input[1], "\n", 1) == 1);
  });
  CHECK(events == kMany && codes == seen && static_cast<int>(codes.size()) == kMany);
  for (int i = 0; i < static_cast<int>(codes.size()); ++i)
    CHECK(codes[static_cast<std::size_t>(i)] == (i == 17 ? 9 : 0));
  CHECK(class_of(rmq_await_job(world.job().c_str(), 0, nullptr, &events)) == MPI_ERR_SPAWN);  // told already
  ::close(input[0]), ::close(input[1]);
}

void signals() {
  rmq::Spawn spawn;
  spawn.program("sh", {"-c", "trap 'exit 5' USR1; kill -STOP $$; while :; do sleep 0.01; done"}, 2);
  rmq::SpawnedWorld world = spawn.start_apart();
  CHECK(world.next(0).kind == RMQ_EVENT_NONE);
  CHECK(world.next(30).kind == RMQ_EVENT_NONE);
  CHECK(class_of(world.signal(0)) == MPI_ERR_SPAWN && class_of(world.signal(-1)) == MPI_ERR_SPAWN &&
        class_of(world.signal(1000)) == MPI_ERR_SPAWN);
  CHECK(class_of(rmq_signal_job("0123456789abcdef", SIGUSR1)) == MPI_ERR_SPAWN);
  CHECK(world.signal(SIGCONT) == MPI_SUCCESS);  // they are there until somebody ends them
  while (world.next(20).kind == RMQ_EVENT_NONE) {
    world.signal(SIGUSR1);
    world.signal(SIGCONT);
  }
  const std::vector<int> codes = world.wait();
  // Before it had set its trap the signal ends it; and one of them that has ended ends the other.
  for (const int code : codes) CHECK(code == 5 || code > 128);
  CHECK(codes[0] == 5 || codes[1] == 5 || codes[0] == 128 + SIGUSR1 || codes[1] == 128 + SIGUSR1);
  CHECK(codes.size() == 2);
}

// Nobody reads from the FIFO: the launcher says so, and nobody waits.
void fifo() {
  char name[] = "/tmp/rmq-words-XXXXXX";
  if (!::mkdtemp(name)) std::abort();
  const std::string path = std::string(name) + "/fifo";
  if (::mkfifo(path.c_str(), 0600) != 0) std::abort();
  rmq::Spawn spawn;
  spawn.program("true", {}, 1).output(path);
  CHECK(spawn.start_apart().job().empty());
  ::unlink(path.c_str());
  ::rmdir(name);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "child") == 0) return child(argc, argv);
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  hand_over(argv[0]);
  look_after();
  signals();
  fifo();
  return finish();
}

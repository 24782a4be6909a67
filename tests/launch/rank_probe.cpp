// SPDX-License-Identifier: BSD-3-Clause
// A rank without MPI, for the launcher's tests: does to its bootstrap what its arguments say, one after the other.
//
//   init            connect (implied by the words below that need it)
//   put K V | get K | fence | finalize | abort CODE | watch (wait for the server, as an idle rank does)
//   stall           wait for the next rank as MPI_Recv does, and be too busy to say so when first asked for all
//   lose            abort because another rank is lost
//   peek K          look it up once: nothing may be there yet
//   look K          look it up until it is there
//   run COMMAND     as the shell does
//   print           print what the last get or look returned
//   exit CODE | kill SIGNAL | hang | echo TEXT | cat | env NAME | where | rank R WORDS…: the rest only in rank R
//   rank-kill R | rank-abort R   kill -9 myself, or abort with code 7, if I am rank R
//   say TEXT        print "<rank> TEXT"; %r in keys and values is the rank, %n the next rank, %p the process
//   spin            use the CPU for ever, never looking at the server
//   grow MB         fill so much memory
//   strike          kill -9 the process whose number the last get or look returned; goes on when it has begun to exit
//   outlive         end the first thread; another one goes on with the rest
//   read            a thread waits for ever for input, and holds that stream
//   fork            leave behind a child that sleeps for ever
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "start/bootstrap.hpp"
#include "tools/process/fd.hpp"
#include "tools/process/reap.hpp"

namespace {

class Probe {
 public:
  Probe(int count, char** words) : count_(count), words_(words) {}

  int run() {
    while (position_ < count_) {
      const std::string word = next();
      if (!on_rank_word(word) && !on_process_word(word) && !on_server_word(word)) {
        std::fprintf(stderr, "rank_probe: unknown word %s\n", word.c_str());
        return 99;
      }
    }
    return 0;
  }

 private:
  std::string next() { return position_ < count_ ? words_[position_++] : ""; }

  std::string next_text() {
    std::string text = next();
    const int rank = boot().job().rank;
    replace(text, "%r", std::to_string(rank));
    replace(text, "%p", std::to_string(::getpid()));
    replace(text, "%n", std::to_string((rank + 1) % boot().job().size));
    return text;
  }

  static void replace(std::string& text, const std::string& what, const std::string& with) {
    for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos;) text.replace(at, what.size(), with);
  }

  rmq::Bootstrap& boot() {
    if (!boot_) {
      auto made = rmq::connect_bootstrap();
      require(made);
      boot_ = std::move(*made);
    }
    return *boot_;
  }

  template <class T>
  static void require(const rmq::Result<T>& result) {
    if (result) return;
    std::fprintf(stderr, "rank_probe: %s\n", result.error().what.c_str());
    std::exit(98);
  }

  static std::string_view tell_of_receive(void* probe, bool all) {
    auto& self = *static_cast<Probe*>(probe);
    if (all && !std::exchange(self.has_been_busy_, true)) return R"({"state":"busy","call":"MPI_Recv"})";
    const rmq::JobInfo& job = self.boot().job();
    self.told_ = R"({"state":"waiting","call":"MPI_Recv","sent":0,"received":0,"waits":1,)"
                 R"("awaits":[{"kind":"recv","peer":)" +
                 std::to_string((job.rank + 1) % job.size) + "}]}";
    return self.told_;
  }

  // Words that need to know who we are.
  bool on_rank_word(const std::string& word) {
    if (word == "rank") {
      if (std::stoi(next()) != boot().job().rank) position_ = count_;
    } else if (word == "rank-kill") {
      if (std::stoi(next()) == boot().job().rank) ::raise(SIGKILL);
    } else if (word == "rank-abort") {
      if (std::stoi(next()) == boot().job().rank) boot().abort(7, "as told", rmq::Blame::itself);
    } else if (word == "say") {
      std::printf("%d %s\n", boot().job().rank, next_text().c_str());
      std::fflush(stdout);
    } else if (word == "where") {
      const rmq::JobInfo& job = boot().job();
      std::printf("%d of %d host %d: %d of %d app %d universe %d\n", job.rank, job.size, job.host_of_rank[job.rank],
                  job.host_rank, job.host_size, job.app_num, job.universe_size);
    } else {
      return false;
    }
    return true;
  }

  bool on_process_word(const std::string& word) {
    if (word == "exit") std::exit(std::stoi(next()));
    if (word == "kill") {
      const int signal = std::stoi(next());
      ::signal(signal, SIG_DFL);  // sanitizers have handlers of their own
      ::raise(signal);
    } else if (word == "hang") {
      while (true) ::pause();
    } else if (word == "spin") {
      while (true) asm volatile("");
    } else if (word == "outlive") {
      std::thread([this] { std::exit(run()); }).detach();
      ::pthread_exit(nullptr);
    } else if (word == "read") {
      int ends[2];
      if (::pipe(ends) != 0) std::exit(97);
      FILE* const nothing = ::fdopen(ends[0], "r");
      ::setvbuf(nothing, nullptr, _IOFBF, 4096);
      std::thread([nothing] { std::fgetc(nothing); }).detach();
      while (::ftrylockfile(nothing) == 0) ::funlockfile(nothing);
    } else if (word == "fork") {
      if (::fork() == 0)
        while (true) ::pause();
    } else if (word == "grow") {
      const std::size_t bytes = std::stoul(next()) << 20;
      fat_.assign(bytes, 'x');
    } else if (word == "strike") {
      const pid_t victim = std::stoi(last_);
      ::kill(victim, SIGKILL);
      while (!rmq::launch::is_ending(victim)) continue;
    } else if (word == "run") {
      static_cast<void>(std::system(next().c_str()) == 0);
    } else if (word == "echo") {
      std::printf("%s\n", next().c_str());
      std::fflush(stdout);
    } else if (word == "cat") {
      for (int c = 0; (c = std::getchar()) != EOF;) std::putchar(c);
    } else if (word == "env") {
      const char* value = std::getenv(next().c_str());
      std::printf("%s\n", value == nullptr ? "(unset)" : value);
    } else {
      return false;
    }
    return true;
  }

  bool on_server_word(const std::string& word) {
    if (word == "init") {
      boot();
    } else if (word == "put") {
      const std::string key = next_text();
      require(boot().put(key, next_text()));
    } else if (word == "get") {
      const auto value = boot().get(next_text());
      require(value);
      last_ = *value;
    } else if (word == "peek") {
      const auto value = boot().look_up(next_text());
      require(value);
      if (*value) std::printf("too early: %s\n", (*value)->c_str());
    } else if (word == "look") {
      const std::string key = next_text();
      for (auto value = boot().look_up(key);; value = boot().look_up(key)) {
        require(value);
        if (*value) {
          last_ = **value;
          break;
        }
        if (rmq::launch::wait_for(boot().watch_fd(), POLLIN, std::chrono::seconds(1))) boot().on_watch();
      }
    } else if (word == "print") {
      std::printf("%s\n", last_.c_str());
    } else if (word == "fence") {
      require(boot().fence());
    } else if (word == "finalize") {
      require(boot().finalize());
    } else if (word == "abort") {
      boot().abort(std::stoi(next()), "as told", rmq::Blame::itself);
    } else if (word == "lose") {
      boot().abort(101, "another is lost", rmq::Blame::lost_peer);
    } else if (word == "watch" || word == "stall") {
      if (word == "stall") boot().on_ask(tell_of_receive, this);
      pollfd server{boot().watch_fd(), POLLIN, 0};
      while (true)
        if (::poll(&server, 1, -1) > 0) boot().on_watch();
    } else {
      return false;
    }
    return true;
  }

  int count_;
  char** words_;
  int position_ = 1;
  std::unique_ptr<rmq::Bootstrap> boot_;
  std::string last_, fat_;
  bool has_been_busy_ = false;
  std::string told_;
};

}  // namespace

int main(int argc, char** argv) {
  static Probe probe(argc, argv);  // not on the stack of a thread that may end
  return probe.run();
}

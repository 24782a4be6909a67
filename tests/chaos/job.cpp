// SPDX-License-Identifier: BSD-3-Clause
#include "tests/chaos/job.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <optional>
#include <regex>

#include "tests/chaos/meddle.hpp"
#include "tests/launch/family.hpp"
#include "tools/process/fd.hpp"
#include "tools/process/spawn.hpp"

namespace rmq::test {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

// Far beyond what any job needs, also beside others: what is later is stuck.
constexpr seconds kPatience{90};
// After which nothing may be left of a job whose front is gone.
constexpr seconds kAftermath{10};
constexpr int kNoMemory = 97;  // chaos_traffic gives up for want of memory of its own

std::string read_memory_file(int fd) {
  std::string text(static_cast<std::size_t>(::lseek(fd, 0, SEEK_END)), '\0');
  const ssize_t got = ::pread(fd, text.data(), text.size(), 0);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

class Job {
 public:
  Job(const Plan& plan, const Room& room, const Tools& tools)
      : plan_(plan),
        room_(room),
        out_(::memfd_create("out", MFD_CLOEXEC)),
        err_(::memfd_create("err", MFD_CLOEXEC)),
        trace_(room.folder() + "/trace") {
    if (room.own() && plan.trouble == Trouble::full_trace) disk_.emplace(trace_, plan.limit);
    if (room.own() && plan.trouble == Trouble::small_shm) disk_.emplace("/dev/shm", plan.limit);
    start(tools);
  }
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  Verdict run() {
    Verdict verdict;
    trouble_at_ = started_ + milliseconds(plan_.after_ms);
    const auto deadline = started_ + kPatience + milliseconds(plan_.pause_ms);
    while (::waitpid(front_, &status_, WNOHANG) == 0) {
      if (Clock::now() > deadline) {
        verdict.fault = "did not end";
        give_up();
        break;
      }
      meddle();
      ::poll(nullptr, 0, 3);
    }
    resume();
    await_nobody(verdict.fault);
    disk_.reset();
    const std::string out = read_memory_file(out_.get()), err = read_memory_file(err_.get());
    verdict.said = out + err;
    verdict.finished = status_ == 0 && out == fmt::format("traffic: {} steps right\n", plan_.steps);
    if (verdict.fault.empty() && !verdict.finished) verdict.fault = judge_failure(err);
    for (const std::string& left : await_nothing()) {
      verdict.fault += fmt::format("{}left behind: {}", verdict.fault.empty() ? "" : "; ", left);
    }
    return verdict;
  }

 private:
  void start(const Tools& tools) {
    std::vector<std::string> words = {tools.rmqrun, "-n", std::to_string(plan_.ranks)};
    words.insert(words.end(), plan_.way.begin(), plan_.way.end());
    for (const std::string& setting : plan_.settings) words.insert(words.end(), {"-x", setting});
    if (plan_.trouble == Trouble::full_trace) words.insert(words.end(), {"--trace", trace_});
    words.insert(words.end(),
                 {tools.traffic, "--seed", std::to_string(plan_.seed), "--steps", std::to_string(plan_.steps)});
    if (plan_.trouble == Trouble::few_in_ranks)
      words.insert(words.end(), {"--descriptors", std::to_string(plan_.limit)});
    if (plan_.trouble == Trouble::little_memory) words.insert(words.end(), {"--memory", std::to_string(plan_.limit)});
    launch::Environment environment = launch::Environment::inherited();
    environment.set(kMarkVariable, mark_);
    started_ = Clock::now();
    front_ = ::fork();
    if (front_ != 0) return;
    ::dup2(::open("/dev/null", O_RDONLY | O_CLOEXEC), 0);
    ::dup2(out_.get(), 1);
    ::dup2(err_.get(), 2);
    if (::chdir(room_.folder().c_str()) != 0) ::_exit(126);
    prepare_child(plan_);
    launch::execute(words[0], words, environment);
    ::_exit(126);
  }

  // What is due now. A process that is to be met may not be there yet.
  void meddle() {
    if (stopped_ != 0 && Clock::now() >= resume_at_) resume();
    if (met_ || Clock::now() < trouble_at_) return;
    pid_t victim = front_;
    switch (plan_.trouble) {
      case Trouble::strangers:
        met_ = true;
        if (room_.own()) visit_ports(plan_.seed);
        return;
      case Trouble::kill_rank:
      case Trouble::stop_rank:
        victim = find_process(mark_, plan_.victim);
        break;
      case Trouble::kill_keeper:
      case Trouble::stop_keeper:
        victim = find_process(mark_, -1);
        break;
      case Trouble::kill_front:
        break;
      default:
        met_ = true;
        return;
    }
    if (victim == 0) return;
    met_ = true;
    const bool stop = plan_.trouble == Trouble::stop_rank || plan_.trouble == Trouble::stop_keeper;
    ::kill(victim, stop ? SIGSTOP : SIGKILL);
    if (!stop) return;
    stopped_ = victim;
    resume_at_ = Clock::now() + milliseconds(plan_.pause_ms);
  }

  void resume() {
    if (stopped_ != 0) ::kill(stopped_, SIGCONT);
    stopped_ = 0;
  }

  // Has it say what it waits for and, by the death of a rank, what has happened last; and ends it.
  void give_up() {
    ::kill(front_, SIGQUIT);
    ::poll(nullptr, 0, 3000);
    if (const pid_t rank = find_process(mark_, plan_.victim); rank != 0) ::kill(rank, SIGKILL);
    ::poll(nullptr, 0, 3000);
    for (const pid_t pid : family_of(mark_)) ::kill(pid, SIGKILL);
    ::waitpid(front_, &status_, 0);
  }

  void await_nobody(std::string& fault) {
    const auto deadline = Clock::now() + kAftermath;
    std::vector<pid_t> left;
    while (!(left = family_of(mark_)).empty() && Clock::now() < deadline) ::poll(nullptr, 0, 3);
    for (const pid_t pid : left) {
      fault += fmt::format("; left behind: {}", read_all(fmt::format("/proc/{}/stat", pid)));
      ::kill(pid, SIGKILL);
    }
  }

  // A process that is gone from /proc may still be closing what it had open.
  std::vector<std::string> await_nothing() const {
    if (plan_.trouble == Trouble::full_trace) std::filesystem::remove_all(trace_);
    const auto deadline = Clock::now() + kAftermath;
    std::vector<std::string> left;
    while (!(left = room_.leftovers()).empty() && Clock::now() < deadline) ::poll(nullptr, 0, 3);
    room_.sweep();
    return left;
  }

  int code() const { return WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_); }

  // Whether a job that did not come to its end was allowed to, and has told why. Empty: yes.
  std::string judge_failure(const std::string& err) const {
    const std::string ended = fmt::format("ended with code {}", code());
    if (err.find("WRONG") != std::string::npos) return "wrong data";
    const auto says = [&](const std::string& words) { return err.find(words) != std::string::npos; };
    switch (plan_.trouble) {
      case Trouble::kill_rank:
        if (code() == 128 + SIGKILL && says(fmt::format("rank {} ", plan_.victim)) && says("SIGKILL")) return "";
        return ended + " and does not name the rank that was killed";
      case Trouble::kill_front:
      case Trouble::kill_keeper:
        return code() == 128 + SIGKILL ? "" : ended;
      case Trouble::few_descriptors:
      case Trouble::few_in_ranks:
      case Trouble::little_memory:
      case Trouble::full_trace:
      case Trouble::small_shm:
        break;
      default:
        return ended + " though it could go on";
    }
    static const std::regex crash("signal (4|6|7|8|11) |terminate called|Assertion");
    if (std::regex_search(err, crash)) return ended + " by a crash";
    static const std::regex named("rank [0-9]+|^rmqrun: ");
    if (code() == 0 || (!std::regex_search(err, named) && code() != kNoMemory)) return ended + " and does not say why";
    return "";
  }

  const Plan& plan_;
  const Room& room_;
  const std::string mark_ = next_mark();
  launch::UniqueFd out_, err_;
  std::string trace_;
  std::optional<Room::Disk> disk_;
  pid_t front_ = 0;
  int status_ = 0;
  Clock::time_point started_, trouble_at_, resume_at_;
  bool met_ = false;   // the trouble has happened
  pid_t stopped_ = 0;  // and this is stopped for it
};

}  // namespace

Verdict run_job(const Plan& plan, const Room& room, const Tools& tools) {
  return Job(plan, room, tools).run();
}

}  // namespace rmq::test

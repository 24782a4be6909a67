// SPDX-License-Identifier: BSD-3-Clause
// rmq_spawn.h: jobs that this program's launcher has started, by name.
#include <fmt/format.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <map>
#include <nlohmann/json.hpp>

#include "base/os/fd.hpp"
#include "engine/call/call.hpp"
#include "engine/comm/by_line.hpp"
#include "engine/worlds/wish.hpp"
#include "mpi/dynamic/programs.hpp"
#include "mpi/include/rmq_spawn.h"

namespace rmq::mpi {
namespace {

nlohmann::json checked(nlohmann::json answer) {
  if (answer.contains("error")) fail_call(MPI_ERR_SPAWN, answer["error"].get<std::string>());
  return answer;
}

nlohmann::json ask_about(const char* what, nlohmann::json wish) {
  return checked(ask_launcher(what, std::move(wish)));
}

/// Questions that have not been answered in time are not asked again: by what they ask for.
std::map<std::string, std::string>& open_questions() {
  static auto* const all = new std::map<std::string, std::string>;  // touched with the device held
  return *all;
}

/// For so long at most (negative: without end); nothing when there was no answer in that time.
std::optional<nlohmann::json> ask_about(const char* what, const nlohmann::json& wish, int milliseconds) {
  auto [open, is_new] = open_questions().try_emplace(wish.dump());
  if (is_new) open->second = ask(what, wish);
  const std::string question = open->first, key = open->second;
  const os::UniqueFd timer(milliseconds < 0 ? -1 : ::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  const itimerspec once{{}, {milliseconds / 1000, milliseconds % 1000 * 1'000'000L + 1}};
  if (timer.get() >= 0) ::timerfd_settime(timer.get(), 0, &once, nullptr);
  std::optional<nlohmann::json> answer;
  await_fd(timer.get(), false, [&] {
    answer = answer_to(key);
    std::uint64_t times = 0;
    return answer || (timer.get() >= 0 && ::read(timer.get(), &times, sizeof times) > 0);
  });
  if (!answer) return std::nullopt;
  open_questions().erase(question);
  return checked(*std::move(answer));
}

}  // namespace

extern "C" RMQ_EXPORT int rmq_spawned_job(MPI_Comm intercomm, char job[RMQ_JOB_NAME]) {
  return enter(intercomm, [&](Comm& c) {
    out(job, "job");
    if (!c.is_inter()) fail_call(MPI_ERR_COMM, "argument intercomm is no inter-communicator");
    const std::string name = job_name(c.device->process_of(c.world_of(0)).job);
    job[name.copy(job, RMQ_JOB_NAME - 1)] = '\0';
  });
}

extern "C" RMQ_EXPORT int rmq_start_job(int count, char* const commands[], char** const argvs[], const int processes[],
                                        const MPI_Info infos[], char job[RMQ_JOB_NAME]) {
  return enter([&] {
    *out(job, "job") = '\0';
    std::uint64_t wanted = 0;
    const auto answer = ask_about("spawn", describe({count, commands, argvs, processes, infos}, wanted));
    const std::string name = answer.value("job", "");
    job[name.copy(job, RMQ_JOB_NAME - 1)] = '\0';
  });
}

extern "C" RMQ_EXPORT int rmq_next_event(const char* job, int number, int milliseconds, rmq_event* event) {
  return enter([&] {
    *out(event, "event") = {RMQ_EVENT_NONE, -1, 0};
    if (number < 0) fail_call(MPI_ERR_ARG, fmt::format("argument number is negative: {}", number));
    const auto answer = ask_about("event", {{"job", out(job, "job")}, {"number", number}}, milliseconds);
    if (!answer) return;
    event->kind = answer->contains("over") ? RMQ_EVENT_OVER : RMQ_EVENT_ENDED;
    event->rank = answer->value("rank", -1);
    event->code = answer->value("code", 0);
  });
}

extern "C" RMQ_EXPORT int rmq_signal_job(const char* job, int signal) {
  return enter([&] { ask_about("signal", {{"job", out(job, "job")}, {"signal", signal}}); });
}

extern "C" RMQ_EXPORT int rmq_await_job(const char* job, int room, int codes[], int* count) {
  return enter([&] {
    out(count, "count");
    const auto answer = ask_about("await", {{"job", out(job, "job")}});
    const auto all = answer.value("codes", std::vector<int>{});
    *count = static_cast<int>(all.size());
    for (int i = 0; i < std::min(room, *count); ++i) codes[i] = all[static_cast<std::size_t>(i)];
  });
}

extern "C" RMQ_EXPORT int rmq_pipe_path(int fd, char* path, int room) {
  const std::string text = fmt::format("/proc/{}/fd/{}", ::getpid(), fd);
  if (!path || room <= static_cast<int>(text.size())) return MPI_ERR_ARG;
  path[text.copy(path, text.size())] = '\0';
  return MPI_SUCCESS;
}

}  // namespace rmq::mpi

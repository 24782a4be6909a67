// rmq_spawn.h: jobs that this program's launcher has started, by name.
#include <fmt/format.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "mpi/dynamic/wish.hpp"
#include "mpi/include/rmq_spawn.h"
#include "mpi/internal/call.hpp"

namespace rmq::mpi {
namespace {

nlohmann::json ask_about(const char* what, nlohmann::json wish) {
  auto answer = ask_launcher(what, std::move(wish));
  if (answer.contains("error")) fail_call(MPI_ERR_SPAWN, answer["error"].get<std::string>());
  return answer;
}

}  // namespace

extern "C" RMQ_EXPORT int rmq_spawned_job(MPI_Comm intercomm, char job[RMQ_JOB_NAME]) {
  return enter(intercomm, [&](Comm& c) {
    out(job, "job");
    if (!c.is_inter()) fail_call(MPI_ERR_COMM, "argument intercomm is no inter-communicator");
    const std::string name = job_name(c.device->MPID_Who(c.world_of(0)).job);
    job[name.copy(job, RMQ_JOB_NAME - 1)] = '\0';
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

// SPDX-License-Identifier: BSD-3-Clause
#include "tools/process/spawn.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

namespace rmq::launch {

namespace {

// The plan as the kernel wants it. Everything is allocated before vfork: the child borrows the parent's memory and may
// only make system calls.
struct RawPlan {
  const char* program;
  char* const* argv;
  char* const* shell_argv;  // for a script without an interpreter line, as execvp does it
  char* const* envp;
  const SpawnPlan* plan;
  pid_t parent;
  cpu_set_t cpus;
};

// Written by the child, read by the parent afterwards: vfork's shared memory is a way to report that needs no pipe.
struct Failure {
  const char* volatile step = nullptr;
  volatile int number = 0;
};

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  out.reserve(texts.size() + 1);
  for (const std::string& text : texts) out.push_back(const_cast<char*>(text.c_str()));
  out.push_back(nullptr);
  return out;
}

bool become(int from, int to) {
  return from < 0 || from == to || ::dup2(from, to) >= 0;
}

// In the child: prepares the process; the name of the step that failed, or nullptr.
const char* prepare(const RawPlan& raw) {
  const SpawnPlan& plan = *raw.plan;
  if (plan.die_with_parent) {
    if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return "binding its life to the launcher's";
    if (::getppid() != raw.parent) ::_exit(1);  // the launcher died before the line above
  }
  if (plan.own_session && ::setsid() < 0) return "leaving the terminal";
  if (plan.open_files != nullptr) ::setrlimit(RLIMIT_NOFILE, plan.open_files);
  if (!plan.cpus.empty() && ::sched_setaffinity(0, sizeof raw.cpus, &raw.cpus) != 0) return "binding it to its CPUs";
  if (!plan.folder.empty() && ::chdir(plan.folder.c_str()) != 0) return "changing to its folder";
  if (!become(plan.input, STDIN_FILENO) || !become(plan.output, STDOUT_FILENO) || !become(plan.error, STDERR_FILENO))
    return "connecting its input and output";
  for (const int fd : plan.keep) {
    if (fd >= 0 && ::fcntl(fd, F_SETFD, 0) != 0) return "handing down its socket";
  }
  if (plan.ignore_quit) ::signal(SIGQUIT, SIG_IGN);
  if (plan.signal_mask != nullptr) ::sigprocmask(SIG_SETMASK, plan.signal_mask, nullptr);
  return nullptr;
}

// Alone in its function, so that the child's steps cannot touch variables the parent still uses.
[[gnu::noinline]] pid_t vfork_and_exec(const RawPlan& raw, Failure& failure) {
  const pid_t pid = ::vfork();
  if (pid != 0) return pid;
  const char* step = prepare(raw);
  if (step == nullptr) {
    step = "executing it";
    ::execve(raw.program, raw.argv, raw.envp);
    if (errno == ENOEXEC) ::execve("/bin/sh", raw.shell_argv, raw.envp);
  }
  failure.number = errno;
  failure.step = step;
  ::_exit(127);
}

// 0 when `file` can be executed, else errno.
int check_executable(const std::string& file) {
  struct stat info {};
  if (::stat(file.c_str(), &info) != 0) return errno;
  if (S_ISDIR(info.st_mode)) return EISDIR;
  return ::access(file.c_str(), X_OK) == 0 ? 0 : errno;
}

}  // namespace

Environment Environment::inherited() {
  Environment out;
  for (char** entry = environ; *entry != nullptr; ++entry) out.texts_.emplace_back(*entry);
  return out;
}

Environment Environment::of(std::vector<std::string> texts) {
  Environment out;
  out.texts_ = std::move(texts);
  return out;
}

std::size_t Environment::index_of(std::string_view name) const {
  const auto found = std::find_if(texts_.begin(), texts_.end(), [&](const std::string& text) {
    return text.size() > name.size() && text[name.size()] == '=' && text.starts_with(name);
  });
  return static_cast<std::size_t>(found - texts_.begin());
}

void Environment::set(const std::string& name, const std::string& value) {
  const std::size_t index = index_of(name);
  if (index == texts_.size()) texts_.emplace_back();
  texts_[index] = name + "=" + value;
}

void Environment::unset_matching(const std::function<bool(std::string_view name)>& unwanted) {
  std::erase_if(texts_,
                [&](const std::string& text) { return unwanted(std::string_view(text).substr(0, text.find('='))); });
}

std::string Environment::get(const std::string& name) const {
  const std::size_t index = index_of(name);
  return index == texts_.size() ? "" : texts_[index].substr(name.size() + 1);
}

Result<pid_t> spawn(const SpawnPlan& plan) {
  const Result<std::string> program =
      plan.program.empty() ? find_program(plan.arguments[0], plan.environment.get("PATH"), plan.folder) : plan.program;
  if (!program) return tl::unexpected(program.error());
  std::vector<std::string> shell_arguments{"sh", *program};
  if (plan.arguments.size() > 1)
    shell_arguments.insert(shell_arguments.end(), plan.arguments.begin() + 1, plan.arguments.end());
  const std::vector<char*> argv = pointers(plan.arguments);
  const std::vector<char*> shell_argv = pointers(shell_arguments);
  const std::vector<char*> envp = pointers(plan.environment.texts());
  RawPlan raw{program->c_str(), argv.data(), shell_argv.data(), envp.data(), &plan, ::getpid(), {}};
  CPU_ZERO(&raw.cpus);
  for (const int cpu : plan.cpus)
    if (cpu < CPU_SETSIZE) CPU_SET(static_cast<std::size_t>(cpu), &raw.cpus);

  Failure failure;
  const pid_t pid = vfork_and_exec(raw, failure);
  if (pid < 0) return fail_errno(fmt::format("cannot start another process for {} (see ulimit -u)", *program));
  if (failure.step == nullptr) return pid;
  // The child is dead; take its exit status out of the way here, so that nobody takes it for a rank.
  ::waitpid(pid, nullptr, 0);
  errno = failure.number;
  return fail_errno(fmt::format("{} failed at {}", *program, failure.step));
}

void execute(const std::string& program, const std::vector<std::string>& arguments, const Environment& environment) {
  ::execve(program.c_str(), pointers(arguments).data(), pointers(environment.texts()).data());
}

Result<std::string> find_program(const std::string& name, const std::string& path, const std::string& folder) {
  if (!folder.empty() && ::access((folder + "/.").c_str(), X_OK) != 0)
    return fail_errno(fmt::format("its working folder {} cannot be entered", folder));
  const auto from_folder = [&](const std::string& file) {
    return folder.empty() || file.starts_with('/') ? file : folder + "/" + file;
  };
  if (name.find('/') != std::string::npos) {
    const int why = check_executable(from_folder(name));
    if (why == 0) return name;
    return fail(Errc::argument,
                fmt::format("{}: {}", name, why == EACCES ? "not executable (chmod +x?)" : std::strerror(why)));
  }
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find(':', begin), path.size());
    const std::string file = path.substr(begin, end - begin) + "/" + name;
    if (end > begin && check_executable(from_folder(file)) == 0) return file;
    begin = end + 1;
  }
  if (check_executable(from_folder(name)) == 0) return "./" + name;
  return fail(Errc::argument,
              fmt::format("{}: no such program in PATH or the working folder; give its path, as in ./{}", name, name));
}

}  // namespace rmq::launch

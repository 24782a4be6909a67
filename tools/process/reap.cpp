// SPDX-License-Identifier: BSD-3-Clause
#include "tools/process/reap.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "tools/process/fd.hpp"

namespace rmq::launch {

namespace {

// Of a folder whose entries are numbers, as /proc and /proc/PID/task are: what `use` says of each, until it is false.
template <class Use>
void for_each_number(const char* folder, const Use& use) {
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(::opendir(folder), [](DIR* d) { return ::closedir(d); });
  if (!dir) return;
  while (const dirent* entry = ::readdir(dir.get())) {
    if (entry->d_name[0] < '1' || entry->d_name[0] > '9') continue;
    if (!use(static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10)))) return;
  }
}

ProcessStat read_stat(const std::string& path) {
  std::array<char, 512> text{};
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open() || ::read(file.get(), text.data(), text.size() - 1) <= 0) return {};
  // "pid (name) state ppid pgrp session tty tpgid flags ...", threads being the 11th after flags; the name may hold
  // anything, ')' too.
  const char* const name_end = std::strrchr(text.data(), ')');
  ProcessStat out;
  if (name_end == nullptr ||
      std::sscanf(name_end, ") %c %d %*d %*d %*d %*d %u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %d", &out.state,
                  &out.parent, &out.flags, &out.threads) != 4)
    return {};
  return out;
}

// Whether /proc speaks of processes by the numbers that this one knows, and not by those of another namespace.
bool is_proc_ours() {
  std::array<char, 32> own{};
  return ::readlink("/proc/self", own.data(), own.size() - 1) > 0 && std::to_string(::getpid()) == own.data();
}

std::unordered_multimap<pid_t, pid_t> children_by_parent() {
  std::unordered_multimap<pid_t, pid_t> out;
  if (!is_proc_ours()) return out;
  for_each_number("/proc", [&](pid_t pid) {
    if (const ProcessStat stat = process_stat(pid); stat.parent > 0 && !stat.is_dead()) out.emplace(stat.parent, pid);
    return true;
  });
  return out;
}

std::vector<pid_t> below(pid_t root, pid_t spare, const std::function<bool(pid_t child)>& which) {
  const auto children = children_by_parent();
  std::vector<pid_t> out;
  const auto append_children = [&](pid_t parent) {
    const auto [first, last] = children.equal_range(parent);
    for (auto it = first; it != last; ++it)
      if (it->second != spare) out.push_back(it->second);
  };
  append_children(root);
  if (which) std::erase_if(out, [&](pid_t child) { return !which(child); });
  for (std::size_t i = 0; i < out.size(); ++i) append_children(out[i]);
  return out;
}

}  // namespace

void adopt_orphans() {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
}

ProcessStat process_stat(pid_t pid) {
  return read_stat("/proc/" + std::to_string(pid) + "/stat");
}

std::string process_state(pid_t pid) {
  const ProcessStat stat = process_stat(pid);
  if (stat.is_dead()) return "gone";
  switch (stat.state) {
    case 'R':
      return "running";
    case 'T':
    case 't':
      return "stopped";
    case 'D':
      return "in the kernel";
    default:
      return "sleeping";
  }
}

bool is_ending(pid_t pid) {
  constexpr unsigned kExiting = 4;  // PF_EXITING of the kernel's sched.h: of a thread
  const ProcessStat stat = process_stat(pid);
  if (stat.state == '\0') return ::kill(pid, 0) != 0 && errno == ESRCH;
  bool all = stat.is_dead() || (stat.flags & kExiting) != 0;
  if (!all || stat.threads <= 1) return all;
  const std::string tasks = "/proc/" + std::to_string(pid) + "/task";
  for_each_number(tasks.c_str(), [&](pid_t thread) {
    const ProcessStat of = read_stat(tasks + "/" + std::to_string(thread) + "/stat");
    return all = of.state == '\0' || (of.flags & kExiting) != 0;
  });
  return all;
}

bool has_children() {
  siginfo_t info{};
  return ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 || errno != ECHILD;
}

std::vector<pid_t> descendants() {
  return below(::getpid(), 0, {});
}

void signal_descendants(int signal, pid_t spare, const std::function<bool(pid_t child)>& which) {
  const std::vector<pid_t> all = below(::getpid(), spare, which);
  std::unordered_set<pid_t> family(all.begin(), all.end());
  family.insert(::getpid());
  // A number may have come to mean another process since it was listed: the process is held, and looked at again.
  for (const pid_t pid : all) {
    const UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    if (!process.is_open() && errno == ESRCH) continue;
    if (!family.contains(process_stat(pid).parent)) continue;
    if (process.is_open())
      ::syscall(SYS_pidfd_send_signal, process.get(), signal, nullptr, 0);
    else
      ::kill(pid, signal);  // a kernel older than 5.3, or no descriptor left
  }
}

bool reap_children(const std::function<void(pid_t pid, int status)>& ended) {
  int status = 0;
  for (;;) {
    const pid_t pid = ::waitpid(-1, &status, WNOHANG);
    if (pid <= 0) return pid == 0 || errno != ECHILD;
    ended(pid, status);
  }
}

// Death takes the kernel a moment, and a process may have forked while the list was read: looks again until nobody is
// `left`.
template <class Left>
void kill_until_gone(const Left& left, const std::function<bool(pid_t child)>& which) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  for (int pause_ms = 0; std::chrono::steady_clock::now() < deadline;
       pause_ms = pause_ms < 16 ? 2 * pause_ms + 1 : 16) {
    if (!left()) return;
    signal_descendants(SIGKILL, 0, which);
    ::poll(nullptr, 0, pause_ms);
  }
}

void kill_descendants() {
  kill_until_gone([] { return reap_children([](pid_t, int) {}); }, {});
}

void kill_descendants(const std::function<bool(pid_t child)>& which) {
  if (!has_children()) return;  // without reading /proc
  kill_until_gone([&] { return !below(::getpid(), 0, which).empty(); }, which);
}

}  // namespace rmq::launch

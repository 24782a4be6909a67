// SPDX-License-Identifier: BSD-3-Clause
#include "tools/launch/verdict.hpp"

#include <fmt/format.h>
#include <sys/wait.h>

#include <csignal>
#include <cstring>

namespace rmq::launch {

Verdict judge(std::string_view who, RankState state, int status, bool alone) {
  const char* others = alone ? "" : "; the other ranks were ended";
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    const bool left = state == RankState::finalized;
    return {left ? Verdict::Effect::recorded : Verdict::Effect::ends_job, 128 + signal,
            fmt::format("{} was killed by signal {} ({}{}){}", who, signal, signal_name(signal),
                        WCOREDUMP(status) ? ", core dumped" : "", left ? " after MPI_Finalize" : others)};
  }
  const int code = WEXITSTATUS(status);
  switch (state) {
    case RankState::finalized:
      return {code == 0 ? Verdict::Effect::fine : Verdict::Effect::recorded, code, {}};
    case RankState::joined:
      return {Verdict::Effect::ends_job, code == 0 ? 1 : code,
              fmt::format("{} exited with code {} without calling MPI_Finalize{}", who, code, others)};
    case RankState::silent:
    case RankState::dead:
      break;
  }
  if (code == 0) return {};
  return {Verdict::Effect::ends_job, code, fmt::format("{} exited with code {}{}", who, code, others)};
}

std::string signal_name(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return name != nullptr ? fmt::format("SIG{}", name) : fmt::format("signal {}", signal);
}

std::string one_line(std::string_view text) {
  std::string out(text);
  while (!out.empty() && (out.back() == '\n' || out.back() == ' ')) out.pop_back();
  for (char& c : out)
    if (static_cast<unsigned char>(c) < ' ' || c == 127) c = ' ';
  return out;
}

}  // namespace rmq::launch

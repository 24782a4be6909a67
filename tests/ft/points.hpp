// SPDX-License-Identifier: BSD-3-Clause
// Points at which a rank may die inside of a call: its messages to others and its looks for theirs, at the system calls
// by which it does that (with RMQ_WAIT=yield a rank that waits has points as well). To be included once in a program.
#pragma once

#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace {

bool armed = false;   // this rank is to die …
int points_left = 0;  // … behind so many points
int words_left = 0;   // points are only those behind so many words "well" to the other side's root

/// `text`: behind how many points; "v" and a number: of those behind this root's vote on whether the two sides have
/// met, which is the third such word (the first two: the party's methods are open, and have joined).
inline void arm(bool armed_now, const char* text) {
  const bool by_vote = text[0] == 'v';
  words_left = by_vote ? 3 : 0;
  points_left = std::atoi(text + (by_vote ? 1 : 0));
  armed = armed_now && points_left >= 0;
}

void point() {
  if (armed && words_left == 0 && points_left-- == 0) raise(SIGKILL);
}

/// "Well" is a message of one word, a 1, with its length before it (start/line.hpp).
void note_sent(const void* data, std::size_t bytes) {
  std::uint64_t words[2];
  if (words_left == 0 || bytes != sizeof words) return;
  std::memcpy(words, data, sizeof words);
  if (words[0] == sizeof words[1] && words[1] == 1) --words_left;
}

}  // namespace

// In place of the C library's; the library finds only what is visible.
extern "C" [[gnu::visibility("default")]] ssize_t send(int fd, const void* data, size_t bytes, int flags) {
  point();
  const ssize_t sent = syscall(SYS_sendto, fd, data, bytes, flags, nullptr, 0);
  if (sent > 0) note_sent(data, static_cast<std::size_t>(sent));
  return sent;
}
extern "C" [[gnu::visibility("default")]] ssize_t sendmsg(int fd, const struct msghdr* message, int flags) {
  point();
  return syscall(SYS_sendmsg, fd, message, flags);
}
extern "C" [[gnu::visibility("default")]] int sched_yield(void) {
  point();
  return static_cast<int>(syscall(SYS_sched_yield));
}

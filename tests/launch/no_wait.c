// SPDX-License-Identifier: BSD-3-Clause
// Preloaded into rmqrun: in its keeper, and in that of its agents, no call may wait for anybody but the event loop.
// Each one that would is written to the file that NO_WAIT_LOG names; "checked" is when something has been looked at.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static int is_keeper(void) {
  char name[16] = "";
  return prctl(PR_GET_NAME, name) == 0 && strcmp(name, "rmqkeeper") == 0;
}

static void note(const char* what, int fd, const char* more) {
  const int error = errno;
  const char* const log = getenv("NO_WAIT_LOG");
  char line[256];
  const int size = snprintf(line, sizeof line, "%s %d %s\n", what, fd, more);
  const int file = log ? (int)syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND, 0666) : -1;
  if (file >= 0) {
    syscall(SYS_write, file, line, (size_t)size);
    syscall(SYS_close, file);
  }
  errno = error;
}

static void checked(void) {
  static int told;
  if (!told++) note("checked", 0, "");
}

// Plain files are ready as far as anybody can tell; what is shared and may be emptied by others first is not.
static void would_wait(const char* what, int fd, short events, int flags) {
  struct stat info;
  struct pollfd one = {fd, events, 0};
  if (!is_keeper()) return;
  checked();
  const int error = errno;
  const int mode = fcntl(fd, F_GETFL);
  if (mode >= 0 && !(mode & O_NONBLOCK) && !(flags & MSG_DONTWAIT) && fstat(fd, &info) == 0 && !S_ISREG(info.st_mode) &&
      !S_ISDIR(info.st_mode)) {
    if (events == POLLIN && S_ISCHR(info.st_mode) && isatty(fd)) note(what, fd, "of a terminal that is shared");
    // ppoll is not watched.
    const struct timespec none = {0, 0};
    if (ppoll(&one, 1, &none, NULL) == 0) note(what, fd, "is not ready");
  }
  errno = error;
}

ssize_t read(int fd, void* at, size_t size) {
  would_wait("read", fd, POLLIN, 0);
  return NEXT(read)(fd, at, size);
}

ssize_t recv(int fd, void* at, size_t size, int flags) {
  would_wait("recv", fd, POLLIN, flags);
  return NEXT(recv)(fd, at, size, flags);
}

ssize_t recvmsg(int fd, struct msghdr* message, int flags) {
  would_wait("recvmsg", fd, POLLIN, flags);
  return NEXT(recvmsg)(fd, message, flags);
}

ssize_t write(int fd, const void* at, size_t size) {
  would_wait("write", fd, POLLOUT, 0);
  return NEXT(write)(fd, at, size);
}

ssize_t send(int fd, const void* at, size_t size, int flags) {
  would_wait("send", fd, POLLOUT, flags);
  return NEXT(send)(fd, at, size, flags);
}

static void must_not_block(const char* what, int fd) {
  if (!is_keeper()) return;
  checked();
  if (!(fcntl(fd, F_GETFL) & O_NONBLOCK)) note(what, fd, "on a socket that blocks");
}

int connect(int fd, const struct sockaddr* address, socklen_t size) {
  must_not_block("connect", fd);
  return NEXT(connect)(fd, address, size);
}

int accept4(int fd, struct sockaddr* address, socklen_t* size, int flags) {
  must_not_block("accept4", fd);
  return NEXT(accept4)(fd, address, size, flags);
}

static void must_be_plain(const char* path, int flags) {
  struct stat info;
  if (!is_keeper() || (flags & O_NONBLOCK)) return;
  checked();
  if (stat(path, &info) == 0 && (S_ISFIFO(info.st_mode) || (S_ISCHR(info.st_mode) && strcmp(path, "/dev/null") != 0)))
    note("open", -1, path);
}

int open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const int mode = (flags & (O_CREAT | O_TMPFILE)) ? va_arg(more, int) : 0;
  va_end(more);
  must_be_plain(path, flags);
  return NEXT(open)(path, flags, mode);
}

FILE* fopen64(const char* path, const char* mode) {
  must_be_plain(path, 0);
  return NEXT(fopen64)(path, mode);
}

// The one sleep that is allowed is that between two looks at processes which SIGKILL has been sent.
int poll(struct pollfd* all, nfds_t count, int timeout) {
  if (timeout != 0 && is_keeper() && !(count == 0 && timeout <= 16)) note("poll", timeout, "ms");
  return NEXT(poll)(all, count, timeout);
}

int nanosleep(const struct timespec* time, struct timespec* left) {
  if (is_keeper()) note("nanosleep", -1, "");
  return NEXT(nanosleep)(time, left);
}

pid_t waitpid(pid_t pid, int* status, int options) {
  siginfo_t info = {0};
  if (is_keeper() && !(options & WNOHANG) &&
      (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0))
    note("waitpid", pid, "");
  return NEXT(waitpid)(pid, status, options);
}

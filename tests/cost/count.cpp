// SPDX-License-Identifier: BSD-3-Clause
// count <program> <arguments>...: runs a program and counts the instructions between its marks, one by one. A mark is
// an int3 with a register that says where the text of the next piece is, "<name>: <bound>", or 0 at its end.
// Of a piece that comes more than once the least counts: what happens now and then (a clock is read, credit goes back)
// is not its cost. Prints each piece; ends with 1 when one takes more than its bound, else as the program does.
#include <fmt/format.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

namespace {

[[noreturn]] void give_up(const char* what) {
  std::perror(what);
  std::exit(99);
}

std::string text_at(pid_t child, unsigned long long address) {
  for (std::string text;; address += sizeof(long)) {
    errno = 0;
    const long word = ::ptrace(PTRACE_PEEKDATA, child, address, nullptr);
    if (errno != 0) give_up("count: no text at a mark");
    for (unsigned i = 0; i < sizeof word; ++i) {
      const char c = static_cast<char>(word >> (8 * i));
      if (c == '\0') return text;
      text.push_back(c);
    }
  }
}

class Counter {
 public:
  explicit Counter(pid_t child) : child_(child) {}

  /// The wait status that the program has ended with.
  int run() {
    int status = 0;
    if (::waitpid(child_, &status, 0) != child_ || !WIFSTOPPED(status)) return status;  // it could not be executed
    if (::ptrace(PTRACE_SETOPTIONS, child_, nullptr, PTRACE_O_EXITKILL) != 0) give_up("count: ptrace");
    for (int signal = 0;;) {
      if (::ptrace(counting_ ? PTRACE_SINGLESTEP : PTRACE_CONT, child_, nullptr, signal) != 0) give_up("count: ptrace");
      if (::waitpid(child_, &status, 0) != child_) give_up("count: waitpid");
      if (!WIFSTOPPED(status)) return status;
      signal = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
      if (signal == 0) on_trap();
    }
  }

  bool print() const {
    bool good = true;
    for (const auto& [name, piece] : pieces_) {
      const bool fits = piece.least <= piece.bound;
      fmt::print("{:40} {:6} instructions{}\n", name, piece.least,
                 fits ? "" : fmt::format(": more than the {} that it may take", piece.bound));
      good = good && fits;
    }
    return good;
  }

 private:
  struct Piece {
    unsigned long least = ~0ul, bound = 0;
  };

  void on_trap() {
    siginfo_t info{};
    user_regs_struct registers{};
    if (::ptrace(PTRACE_GETSIGINFO, child_, nullptr, &info) != 0) give_up("count: ptrace");
    if (info.si_code != SI_KERNEL) {  // a step; of an int3 the kernel itself tells
      ++steps_;
      return;
    }
    if (::ptrace(PTRACE_GETREGS, child_, nullptr, &registers) != 0) give_up("count: ptrace");
    counting_ = registers.rax != 0;
    if (counting_) {
      const std::string text = text_at(child_, registers.rax);
      const std::size_t colon = text.rfind(": ");
      name_ = text.substr(0, colon);
      pieces_[name_].bound = std::stoul(text.substr(colon + 2));
      steps_ = 0;
    } else {
      Piece& piece = pieces_[name_];
      piece.least = std::min(piece.least, steps_ - std::min(steps_, kOfTheMark));
    }
  }

  static constexpr unsigned long kOfTheMark = 1;  // the register is set to 0

  pid_t child_;
  bool counting_ = false;
  unsigned long steps_ = 0;
  std::string name_;
  std::map<std::string, Piece> pieces_;
};

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) return 99;
  const pid_t child = ::fork();
  if (child < 0) give_up("count: fork");
  if (child == 0) {
    ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    ::execv(arguments[1], arguments + 1);
    give_up(arguments[1]);
  }
  Counter counter(child);
  const int status = counter.run();
  const bool good = counter.print();
  if (WIFSIGNALED(status)) return 128 + WTERMSIG(status);
  return WEXITSTATUS(status) != 0 ? WEXITSTATUS(status) : good ? 0 : 1;
}

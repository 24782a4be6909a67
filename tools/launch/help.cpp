// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <iterator>
#include <string>
#include <string_view>

#include "tools/launch/options.hpp"
#include "tools/launch/words.hpp"

namespace rmq::launch {
namespace {

constexpr std::size_t kLeft = 25, kWidth = 120;  // columns

// One option: its names on the left, the words of its text on the right, as many lines as they need.
void describe(std::string& to, std::string_view left, std::string_view right) {
  if (left.empty()) return;
  std::string line = fmt::format("  {:<{}}", left, kLeft - 2);
  bool first = true;
  for (const std::string_view word : split(right, ' ')) {
    if (!first && line.size() + 1 + word.size() > kWidth) {
      to += line + "\n";
      line.assign(kLeft, ' ');
      first = true;
    }
    if (!first || (line.size() > kLeft && line.back() != ' ')) line += ' ';
    line += word;
    first = false;
  }
  to += line + "\n";
}

}  // namespace

std::string help_text() {
  std::string text =
      "Usage: rmqrun [options] program [arguments] [ : [options] program [arguments] ] ...\n"
      "Starts an MPI program on this machine, or on those that are named or allocated.\n"
      "\n";
#define RMQ_OPTION(verb, values, names, left, right) describe(text, left, right);
#define RMQ_OPTION_AS(verb, name, value)
#include "tools/launch/options.def"
#undef RMQ_OPTION
#undef RMQ_OPTION_AS
  text +=
      "\n"
      "Standard input goes to rank 0, signals to all ranks. When a rank dies, the others are ended, and the exit code "
      "is\n"
      "the rank's own, or 128 + the number of the signal that killed it. A program that cannot be started: 127.\n"
      "SIGQUIT (Ctrl-\\) is kept from the ranks: it prints what each of them is doing, and the job goes on, as does\n"
      "'rmqps JOB'.\n";
  return text;
}

}  // namespace rmq::launch

// SPDX-License-Identifier: BSD-3-Clause
// What each option of rmqrun does: on_VERB for each row of tools/launch/options.def.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "tools/launch/options.hpp"
#include "tools/launch/placing.hpp"

namespace rmq::launch {

/// An option as it was written: the word with its dashes, and its arguments.
struct GivenOption {
  std::string_view word;
  std::string value, second;
};

/// A command line while it is read.
struct Reading {
  std::vector<std::string> arguments;  // those of the command line, or of the file that it names
  std::size_t position = 0;            // of the next one
  Options out;
  App app;  // of the section under way
  bool timeout_given = false;
  Placing placing;
};

// Errc::argument names the option and the remedy.
#define RMQ_OPTION(verb, values, names, left, right) Result<void> on_##verb(Reading& reading, const GivenOption& given);
#define RMQ_OPTION_AS(verb, name, value)
#include "tools/launch/options.def"
#undef RMQ_OPTION
#undef RMQ_OPTION_AS

/// Adds a process set, in the words of RMQ_PSETS.
void add_set(Options& out, const std::string& set);
/// A number of seconds, rounded up to a millisecond; nothing for zero and less. `source`: who says so.
Result<std::optional<std::chrono::milliseconds>> parse_seconds(const std::string& text, std::string_view source);

}  // namespace rmq::launch

// SPDX-License-Identifier: BSD-3-Clause
// All options that rmqrun knows: its own (tools/launch/options.def), and those of the launchers that people come from.
// What means the same here is done, what changes nothing is taken, and what cannot be done is refused with what does it
// instead: nobody's script fails with "unknown option".
#pragma once

#include <span>
#include <string_view>

#include "tools/launch/option_verbs.hpp"

namespace rmq::launch {

struct KnownOption {
  enum class Sort {
    own,
    ignored,  // it is so in any case
    foreign,  // means nothing here, and the user is told
    refused,  // means something that is not here
  };

  std::string_view name;  // without dashes
  int values;             // arguments that follow, 2 at most
  Sort sort;
  /// Of one without arguments: the value that it stands for. Of foreign and refused ones: why, and what to use instead.
  std::string_view text = {};
  Result<void> (*apply)(Reading& reading, const GivenOption& given) = nullptr;  // of our own
};

std::span<const KnownOption> known_options();

}  // namespace rmq::launch

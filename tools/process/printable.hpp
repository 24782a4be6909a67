// SPDX-License-Identifier: BSD-3-Clause
// Text of others, for a terminal.
#pragma once

#include <string>
#include <string_view>

namespace rmq::launch {

/// The text with everything a terminal may take for a command spelt out, as \x1b: control characters but the ends of
/// lines and tabs, those of C1 too, and bytes that are no UTF-8. Names of programs, folders and hosts are whatever
/// bytes somebody has chosen.
std::string printable(std::string_view text);

}  // namespace rmq::launch

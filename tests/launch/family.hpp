// SPDX-License-Identifier: BSD-3-Clause
// All processes that descend from one, found by a mark in their environment wherever they went.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace rmq::test {

/// The variable that carries the mark; its value is unique among all tests that run.
inline constexpr const char* kMarkVariable = "RMQ_TEST_MARK";
std::string next_mark();

/// Processes with this mark that are alive now (zombies are not); only those of this name, unless it is empty.
std::vector<pid_t> family_of(const std::string& mark, const std::string& name = "");

/// The whole of a file, empty when there is none; also of files that lie about their size or vanish, as in /proc.
std::string read_all(const std::string& file);

}  // namespace rmq::test

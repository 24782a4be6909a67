// SPDX-License-Identifier: BSD-3-Clause
// Programs of our own that a library or a program starts by itself, without the user having named them.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

namespace rmq::os {

/// Whether nobody but root, this process's user and `owner` can choose what is executed as `file`, an absolute path:
/// the file, what it links to, and all folders above belong to one of them, and nobody else may write there. (A folder
/// with the sticky bit, as /tmp, may be anybody's: entries of others stay where they are.) The file can be executed,
/// too.
bool is_trusted_program(const std::string& file, uid_t owner);

/// bin/`name` of the installation or build tree that the file with this code (a function or an object) lies in: beside
/// lib/, lib/<machine>/ or lib/rmq/<what>/. Trusts the owner of that file, whose code runs here already; empty where
/// there is no such program, or no trusted one.
std::string program_beside(const void* code, std::string_view name);

}  // namespace rmq::os

// SPDX-License-Identifier: BSD-3-Clause
// What the file of a program says of itself.
#pragma once

#include <string>
#include <vector>

namespace rmq::launch {

/// The shared libraries that a program of this machine names (DT_NEEDED), as it names them; those that these name in
/// turn are not among them. None of a file that is no such program, as of a script, or that cannot be read. Does not
/// wait.
std::vector<std::string> needed_libraries(const std::string& file);

/// Whether these are of a program that was compiled with Open MPI: the one that says so, or an empty text.
std::string of_open_mpi(const std::vector<std::string>& libraries);

}  // namespace rmq::launch

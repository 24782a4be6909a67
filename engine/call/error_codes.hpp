// SPDX-License-Identifier: BSD-3-Clause
// Error codes: predefined classes, codes that carry the text of one failure, and those that the program adds.
//
//   0x000000cc   class cc, as mpi.h has it
//   0x00nnnncc   failure number n of class cc: its text is kept among the latest kKept
//   0x40000000+  added by MPI_Add_error_class or MPI_Add_error_code; a number that was removed is used again
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace rmq::mpi {

/// An error code of this class that MPI_Error_string explains with `text`, as long as it is among the latest. Any
/// thread, as all here.
int make_error_code(int error_class, std::string_view text);
/// What MPI_Error_class and MPI_Error_string answer; empty or negative for what is no code.
int class_of_code(int code);
std::string text_of_code(int code);
/// Value of the attribute MPI_LASTUSEDCODE.
int last_used_code();

/// What the program has added.
struct AddedCode {
  int class_code;  // itself, where it is a class
  std::string text;
  bool removed = false;
  int codes = 0;  // of a class: that there are of it, beside itself
};
enum class Fate : bool { kept, removed };

/// A new code of that class; negative: a new class.
int add_error_code(int error_class);
/// Calls `change` with what the program has added under this code, while no other thread looks at any; false: it has
/// not, or has removed it. What `change` throws is passed on.
bool change_error_code(int code, const std::function<Fate(AddedCode&)>& change);

}  // namespace rmq::mpi

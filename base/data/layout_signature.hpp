// SPDX-License-Identifier: BSD-3-Clause
// The type signature of a layout: which predefined types its data is made of, in type-map order, without displacements.
// Kept apart from the displacements, because merging runs of bytes forgets where one type ends and the next begins.
// A tree with repeat counts, so that a billion structures cost no more than one. Private to base/; immutable, shared.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/data/layout.hpp"

namespace rmq::layout_detail {

enum class SignatureKind : std::uint8_t { run = 1, repeat = 2, sequence = 3 };

struct Signature {
  SignatureKind kind = SignatureKind::run;
  Basic type = Basic::none;                 // run
  std::uint32_t unit = 0;                   // run: packed bytes of one predefined element, never 0
  std::uint32_t depth = 1;                  // levels, itself included
  std::uint64_t count = 0;                  // run: predefined elements; repeat: times
  std::uint64_t bytes = 0;                  // packed, of the whole
  std::uint64_t elements = 0;               // as MPI_Get_elements counts: a value/index pair is two
  SignatureRef child;                       // repeat
  std::vector<SignatureRef> parts;          // sequence
  std::vector<std::uint64_t> byte_ends;     // sequence: packed bytes up to and including part i
  std::vector<std::uint64_t> element_ends;  // sequence: the same in elements
};

/// Makers; null stands for the empty signature, nullopt for a result that leaves the 64-bit range or is too deep.
std::optional<SignatureRef> signature_run(Basic type, std::uint64_t unit, std::uint64_t count);
std::optional<SignatureRef> signature_repeat(std::uint64_t count, const SignatureRef& of);
std::optional<SignatureRef> signature_sequence(std::vector<SignatureRef> parts);

/// Fills in bytes, elements, depth and the sums of a node whose other fields are set; false when it is inconsistent.
bool complete(Signature& signature);

/// Elements wholly contained in the first `bytes` packed bytes, which are at most of.bytes; `rest`: bytes behind them.
std::uint64_t elements_in(const Signature& of, std::uint64_t bytes, std::uint64_t& rest);

/// Appends the runs to `to`, joining equal neighbours.
void append_runs(const Signature& of, std::vector<std::pair<Basic, std::uint64_t>>& to);

}  // namespace rmq::layout_detail

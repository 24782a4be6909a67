// SPDX-License-Identifier: BSD-3-Clause
// What the members of a window tell each other while it is made.
//
// In most windows size and unit are alike everywhere. So all members agree on the bitwise and of what each brings and
// of its complement, which costs the same for any number of them: where the two make up all bits, that is what each has
// brought. Else each member's words go to all, and are kept as runs of members that are alike. What only those of the
// same host can use, the ways to its memory, does not leave it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rmq::rma {

/// What all have to know of a member.
struct Fact {
  static constexpr std::size_t kWords = 4;
  std::uint32_t fault = 0;       // its Fault: it has no memory
  std::uint32_t shift = 0;       // of its regions
  std::uint64_t size = 0;        // bytes of its memory
  std::uint64_t unit = 0;        // its displacement unit, bytes
  std::uint64_t type_bytes = 0;  // largest definition of a datatype that it keeps
  bool operator==(const Fact&) const = default;

  std::array<std::uint64_t, kWords> words() const {
    return {fault | std::uint64_t{shift} << 32, size, unit, type_bytes};
  }
  static Fact from(std::span<const std::uint64_t> w) {
    return {static_cast<std::uint32_t>(w[0]), static_cast<std::uint32_t>(w[0] >> 32), w[1], w[2], w[3]};
  }
};

/// What one member brings.
struct Brought {
  static constexpr std::size_t kMasks = 2 * Fact::kWords, kHostWords = 4;
  Fact fact;
  std::array<std::uint64_t, kHostWords> to_host{};  // WindowMemory says what these are

  /// The words of the fact, and their complements.
  std::array<std::uint64_t, kMasks> masks() const {
    std::array<std::uint64_t, kMasks> m;
    const auto words = fact.words();
    for (std::size_t i = 0; i < words.size(); ++i) {
      m[i] = words[i];
      m[i + words.size()] = ~words[i];
    }
    return m;
  }
};

/// What a member hears.
struct Told {
  std::array<std::uint64_t, Brought::kMasks> masks{};  // the bitwise and of all members'
  std::span<const std::uint64_t> of_all;               // Fact::words() of each member; not used where is_alike()
  std::span<const std::uint64_t> of_host;              // Brought::to_host of those on my host, in their order

  /// Whether all have brought the same fact.
  bool is_alike() const {
    for (std::size_t i = 0; i < Fact::kWords; ++i)
      if ((masks[i] | masks[i + Fact::kWords]) != ~std::uint64_t{0}) return false;
    return true;
  }
};

/// The facts of all members, by place.
class Facts {
 public:
  Facts() = default;
  explicit Facts(const Told& told);

  /// Logarithmic in the number of runs of members that are alike.
  const Fact& operator[](int place) const;
  bool same_size() const;
  bool same_unit() const;
  /// The first member that has a fault, or -1.
  int first_fault() const;

 private:
  struct Run {
    int first;
    Fact fact;
  };
  std::vector<Run> runs_;
};

}  // namespace rmq::rma

// SPDX-License-Identifier: BSD-3-Clause
// Whether a sanitizer looks at each access, which takes ten times as long: tests that repeat something do it less.
#pragma once

namespace rmq {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)  // Clang is told to say so, too
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

/// How often to repeat something there that is repeated so often elsewhere.
template <class Integer>
constexpr Integer repeated(Integer times) {
  return kSanitized ? (times + 4) / 5 : times;
}

}  // namespace rmq

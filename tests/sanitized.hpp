// Whether a sanitizer looks at each access, so that all takes ten times as long: tests that repeat something do it less.
#pragma once

namespace rmq::testing {

#if defined(__has_feature)
inline constexpr bool kSanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace rmq::testing

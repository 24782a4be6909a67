// SPDX-License-Identifier: BSD-3-Clause
// The forms of a collective: blocking, non-blocking and persistent.
#pragma once

#include <cstddef>
#include <type_traits>

#include "plan.hpp"

// The three forms with their names, for call_form; counted: those of a function that takes a count. An MPI before 4.0
// has no persistent ones.
#if MPI_VERSION >= 4
#define TORTURE_FORMS(Name, name) \
  TORTURE_NAMED(MPI_##Name), TORTURE_NAMED(MPI_I##name), TORTURE_NAMED(MPI_##Name##_init)
#define TORTURE_COUNTED_FORMS(Name, name) \
  TORTURE_COUNTED(MPI_##Name), TORTURE_COUNTED(MPI_I##name), TORTURE_COUNTED(MPI_##Name##_init)
#else
#define TORTURE_COUNTED_FORMS(Name, name) TORTURE_COUNTED(MPI_##Name), TORTURE_COUNTED(MPI_I##name), nullptr
#define TORTURE_FORMS(Name, name) TORTURE_NAMED(MPI_##Name), TORTURE_NAMED(MPI_I##name), nullptr
#endif

namespace torture {

enum class Form { blocking, background, persistent, count };

/// One call in `form`. The init form takes an MPI_Info besides; where there is none, the call is non-blocking.
template <class B, class I, class P, class... A>
void call_form(Face& f, Form form, Req request, const B& blocking, const I& starts, const P& init, const A&... a) {
  if (form == Form::blocking) return f.call(blocking, a...);
  if constexpr (!std::is_same_v<P, std::nullptr_t>) {
    if (form == Form::persistent && !f.old()) {
      f.call(init, a..., TORTURE_NAMED(MPI_INFO_NULL), request);
      return f.call(TORTURE_CALL(MPI_Start), request);
    }
  }
  f.call(starts, a..., request);
}

/// Completes what call_form has begun; `way` as in content.hpp.
inline void complete_form(Face& f, Form form, int way, Req request, Stat status) {
  if (form == Form::blocking) return;
  f.does(TORTURE_CALL(complete), f.step, way, request, status);
  if (form == Form::persistent && !f.old()) f.call(TORTURE_CALL(MPI_Request_free), request);
}

}  // namespace torture

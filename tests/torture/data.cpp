// SPDX-License-Identifier: BSD-3-Clause
#include "statics.hpp"

extern "C" [[gnu::visibility("default")]] int* RMQ_TORTURE_DATA() {
  alignas(64) static int words[kStaticWords];
  return &words[0];
}

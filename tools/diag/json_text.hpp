// SPDX-License-Identifier: BSD-3-Clause
// JSON of what others have named.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace rmq::launch {

/// The document as text, on one line unless `indent` says how far to indent. Names of files and programs are whatever
/// bytes they are: those that are no UTF-8 are replaced.
inline std::string json_text(const nlohmann::json& document, int indent = -1) {
  return document.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace rmq::launch

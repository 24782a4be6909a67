// SPDX-License-Identifier: BSD-3-Clause
// Methods that are loaded by name while the program runs: one shared object for each, `rmq_method_<name>.so`, found in
// the folders of RMQ_PLUGIN_PATH and then in the folder of the library or program that this code is part of.
//
// A plug-in is written with RMQ_METHOD_PLUGIN(make_it) in one source file (methods/contract.hpp). It shares the C++
// types of methods/ and base/ with its host, so both must be built from the same contract, which is checked first.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "methods/method.hpp"

namespace rmq::methods {

/// "rmq_method_shm.so" for "shm".
std::string plugin_file(std::string_view name);

/// Folders in the order in which they are searched: those of `plugin_path` (separated by ':'), then our own.
std::vector<std::string> plugin_folders(std::string_view plugin_path);

/// Loads the plug-in and makes its method. The code stays loaded for the life of the process, since objects from it
/// may. Errc::config names file, symbol and remedy when the name is malformed, no folder has the file, it cannot be
/// loaded, lacks a symbol or was built for another contract; else the plug-in's own error.
Result<std::unique_ptr<Method>> open_plugin(std::string_view name, const MethodContext& context);

}  // namespace rmq::methods

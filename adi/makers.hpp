// SPDX-License-Identifier: BSD-3-Clause
// The methods that this build has, and how each is made.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/config.hpp"
#include "base/error.hpp"
#include "methods/method.hpp"

namespace rmq::adi {

/// Makes a method for the job, or for a party, that the context describes.
using MethodMaker = std::function<Result<std::unique_ptr<methods::Method>>(const methods::MethodContext&)>;

/// Names of the methods that are compiled in; none in a plug-in build.
std::vector<std::string> built_in_methods();

/// Makers of the methods that the configuration names (RMQ_METHODS), in order of preference. A name that this build
/// does not have is an error of its maker.
std::vector<MethodMaker> makers_of(const Config& config);

}  // namespace rmq::adi

// SPDX-License-Identifier: BSD-3-Clause
// What the two sides of the switchboard share: tags of what is watched, and times.
#pragma once

#include <boost/asio/error.hpp>
#include <boost/system/errc.hpp>
#include <cstddef>
#include <cstdint>

#include "tcp/ready_set.hpp"
#include "tcp/socket.hpp"

namespace rmq::tcp {

constexpr std::uint64_t kMillisecond = 1000000;
constexpr std::uint64_t kShortestPause = 2 * kMillisecond, kLongestPause = 100 * kMillisecond;  // between tries

inline Tag listener_tag(std::size_t index) {
  return {Tag::Sort::listener, static_cast<std::uint32_t>(index)};
}

inline bool out_of_descriptors(const ErrorCode& ec) {
  return ec == boost::asio::error::no_descriptors || ec == boost::system::errc::too_many_files_open_in_system;
}

}  // namespace rmq::tcp

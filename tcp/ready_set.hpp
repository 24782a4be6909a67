// SPDX-License-Identifier: BSD-3-Clause
// The descriptors of one method that are not polled directly: an epoll set, and in it a timer for the earliest
// deadline. The set's own descriptor is what the device's doorbell watches, so that a sleeping rank wakes for all of
// them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/error.hpp"

namespace rmq::tcp {

/// Whose descriptor it is. `index` counts within the sort: listener's socket, rank of a link, id of a call.
struct Tag {
  enum class Sort : std::uint32_t { none, timer, listener, link, incoming, outgoing };
  Sort sort = Sort::none;
  std::uint32_t index = 0;
};

class ReadySet {
 public:
  /// Errc::system when the process is out of descriptors.
  static Result<std::unique_ptr<ReadySet>> open();
  ~ReadySet();
  ReadySet(const ReadySet&) = delete;
  ReadySet& operator=(const ReadySet&) = delete;

  int fd() const { return epoll_; }

  /// Reports the descriptor when it can be read (or has ended), and, with `writable`, when it can be written; again and
  /// again until that is no longer so. Errc::system when the system has no memory for it.
  Result<void> add(int fd, Tag tag, bool writable = false);
  void change(int fd, Tag tag, bool writable);
  /// Must come before the descriptor is closed.
  void remove(int fd);

  /// The timer reports from `deadline` (os::now_ns()) on; kNever: not at all.
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};
  void set_timer(std::uint64_t deadline);

  /// What is ready now; never waits. The result is valid until the next call.
  std::span<const Tag> ready();

 private:
  ReadySet() = default;
  static constexpr int kBatch = 64;
  int epoll_ = -1;
  int timer_ = -1;
  std::uint64_t deadline_ = kNever;
  Tag tags_[kBatch];
};

}  // namespace rmq::tcp

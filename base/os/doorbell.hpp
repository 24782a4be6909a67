// SPDX-License-Identifier: BSD-3-Clause
// Where an idle rank sleeps: one place that every method can ring. Inside, an epoll set of whatever file descriptors
// the methods watch, and a datagram socket in the abstract namespace (nameless in the file system, gone with its
// process) that other processes of the host ring.
//
// The protocol that loses no wake-up is Method::arm(): announce that the rank sleeps, full fence, look once more.
// Whoever sends looks, after publishing, for the announcement and rings only then.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/rank.hpp"

namespace rmq {

class Doorbell {
 public:
  /// A doorbell for `rank` of `job`. Errc::system when the process is out of file descriptors.
  static Result<std::unique_ptr<Doorbell>> open(std::string_view job, Rank rank);
  /// One that nobody rings, and nobody sleeps at: where ranks are fibers of one process.
  static std::unique_ptr<Doorbell> silent() { return std::unique_ptr<Doorbell>(new Doorbell); }
  ~Doorbell();
  Doorbell(const Doorbell&) = delete;
  Doorbell& operator=(const Doorbell&) = delete;

  /// Also wake when fd becomes readable (or its peer hangs up), and, with `writable`, when it can be written.
  /// Watching again changes what is wanted. The fd stays the caller's; unwatch before closing it.
  Result<void> watch(int fd, bool writable = false);
  void unwatch(int fd);

  /// Sleeps until rung, a watched fd is ready, or `timeout_ns` has passed (negative: for ever). Only the owner.
  void wait(std::int64_t timeout_ns);

  /// Readable when somebody has rung or a watched fd is ready: for another doorbell to watch. clear() takes the rings
  /// in.
  int fd() const { return epoll_; }
  void clear() const;

  /// Rings the doorbell of another rank of this job on this host, or one's own. Any thread. Never blocks; a bell that
  /// has been rung already, or is gone, is fine.
  void ring(Rank rank) const;

 private:
  Doorbell() = default;
  std::string job_;
  Rank rank_ = kNoRank;
  int epoll_ = -1;
  int socket_ = -1;
};

}  // namespace rmq

// SPDX-License-Identifier: BSD-3-Clause
// Active messages on the remote queue buffer: a message names a function that runs where it arrives.
//
//   ActiveMessages am(comm);
//   const int add = am.add([&](int from, const void* data) { … });    // the same functions in the same order
//   everywhere am.fire(target, add, &value, sizeof value); am.drain(); // runs what has come
//
// Handlers run inside drain(), and inside fire() while the target is full; they may fire.
#pragma once

#include <cstring>
#include <functional>
#include <memory>
#include <rmq/queue_buffer.hpp>
#include <vector>

class ActiveMessages {
 public:
  using Handler = std::function<void(int from, const void* data)>;
  static constexpr std::size_t kData = 48;  // bytes that one message carries

  explicit ActiveMessages(MPI_Comm comm, int capacity = 1024) {
    MPI_Comm_rank(comm, &me_);
#ifdef RMQ_HAS_NATIVE_QUEUE
    queue_ = std::make_unique<rmq::NativeQueueBuffer>(comm, sizeof(Message), capacity);
#else
    queue_ = std::make_unique<rmq::PortableQueueBuffer>(comm, sizeof(Message), capacity);
#endif
  }

  int add(Handler handler) {
    handlers_.push_back(std::move(handler));
    return static_cast<int>(handlers_.size()) - 1;
  }

  void fire(int target, int handler, const void* data, std::size_t bytes) {
    Message m{me_, handler, {}};
    std::memcpy(m.data, data, bytes);
    while (!queue_->try_put(target, &m)) drain();  // two that fire at each other must both drain
  }

  /// Runs the handlers of all messages that have come; how many.
  int drain() {
    int count = 0;
    const std::byte* at = queue_->get(count);
    // Handlers may fire, and so drain: what has come is theirs first.
    const std::vector<std::byte> messages(at, at + std::size_t(count) * sizeof(Message));
    for (int i = 0; i < count; ++i) {
      Message m;
      std::memcpy(&m, messages.data() + std::size_t(i) * sizeof m, sizeof m);
      handlers_[std::size_t(m.handler)](m.from, m.data);
    }
    return count;
  }

 private:
  struct Message {
    int from, handler;
    char data[kData];
  };
  int me_ = 0;
  std::unique_ptr<rmq::QueueBuffer> queue_;
  std::vector<Handler> handlers_;
};

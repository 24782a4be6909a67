// SPDX-License-Identifier: BSD-3-Clause
// Active messages in C++: rmq_am.h has what they are, and the rules for handlers.
//
//   rmq::ActiveMessages am(comm, {[&](rmq::Message& m) { sum += m.args<Add>().value; m.reply(1, sum); },
//                                 [&](rmq::Message& m) { … }});
//   am.request(target, 0, Add{5});
//   am.flush();
//
// Making and destroying are collective (destroy before MPI_Finalize). Handlers are numbered as they stand in the list,
// alike on all ranks. Errors of MPI go to the error handler of the communicator. Header only, C++17; needs librmqmpi.
#pragma once

#include <rmq_am.h>

#include <cstddef>
#include <cstring>
#include <functional>
#include <type_traits>
#include <utility>
#include <vector>

namespace rmq {

/// What a handler is given; valid while it runs.
class Message {
 public:
  explicit Message(rmq_am_message& m) : m_(m) {}
  int source() const { return m_.source; }
  bool may_reply() const { return m_.may_reply != 0; }
  /// The arguments, as they were sent; zeros where fewer came.
  template <class T>
  T args() const {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= RMQ_AM_ARGS_MOST);
    T all{};
    std::memcpy(static_cast<void*>(&all), m_.args,
                std::size_t(m_.args_bytes) < sizeof all ? std::size_t(m_.args_bytes) : sizeof all);
    return all;
  }
  void* data() const { return m_.data; }
  std::size_t bytes() const { return m_.bytes; }

  /// Answers, once. An MPI error class.
  template <class T>
  int reply(int handler, const T& args, const void* data = nullptr, std::size_t bytes = 0) {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= RMQ_AM_ARGS_MOST);
    return rmq_am_reply(&m_, handler, &args, int(sizeof args), data, bytes);
  }
  template <class T>
  int reply_long(int handler, const T& args, const void* data, std::size_t bytes, void* place) {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= RMQ_AM_ARGS_MOST);
    return rmq_am_reply_long(&m_, handler, &args, int(sizeof args), data, bytes, place);
  }

 private:
  rmq_am_message& m_;
};

class ActiveMessages {
 public:
  using Handler = std::function<void(Message&)>;
  enum class Run {
    in_calls,  // handlers run in calls of this object or of MPI
    any_time,  // and in another thread while the program computes
  };

  ActiveMessages(MPI_Comm comm, std::vector<Handler> handlers, Run run = Run::in_calls)
      : handlers_(std::move(handlers)) {
    const std::vector<rmq_am_handler> all(handlers_.size(), &run_handler);
    rmq_am_create(comm, run == Run::any_time ? RMQ_AM_AGENT : 0, int(all.size()), all.data(), this, &am_);
  }
  ~ActiveMessages() {
    if (am_) rmq_am_free(&am_);
  }
  ActiveMessages(const ActiveMessages&) = delete;
  ActiveMessages& operator=(const ActiveMessages&) = delete;

  /// Collective: memory of this rank that long messages may name.
  void attach(void* base, std::size_t bytes) { rmq_am_attach(am_, base, bytes); }
  /// Where a rank has its own.
  void* attached(int rank) const {
    void* base = nullptr;
    std::size_t bytes = 0;
    rmq_am_attached(am_, rank, &base, &bytes);
    return base;
  }

  template <class T>
  int request(int target, int handler, const T& args, const void* data = nullptr, std::size_t bytes = 0) {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= RMQ_AM_ARGS_MOST);
    return rmq_am_request(am_, target, handler, &args, int(sizeof args), data, bytes);
  }
  template <class T>
  int request_long(int target, int handler, const T& args, const void* data, std::size_t bytes, void* place) {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= RMQ_AM_ARGS_MOST);
    return rmq_am_request_long(am_, target, handler, &args, int(sizeof args), data, bytes, place);
  }

  /// Handles what has come.
  void poll() { rmq_am_poll(am_); }
  /// Waits until `come()`, which handlers make true; where other threads may run them it looks at atomics. False: a
  /// rank is lost, and nothing has come.
  template <class Come>
  bool wait(Come&& come) {
    rmq_am_counters c{};
    rmq_am_get_counters(am_, &c);
    for (unsigned long long handled = c.handled; !come();)
      if (rmq_am_wait(am_, &handled) != MPI_SUCCESS) return false;
    return true;
  }
  /// Waits until all requests so far have been handled, and their replies.
  void flush() { rmq_am_flush_all(am_); }
  rmq_am handle() const { return am_; }

 private:
  static void run_handler(rmq_am_message* m, void* self) {
    Message message(*m);
    static_cast<ActiveMessages*>(self)->handlers_[std::size_t(m->handler)](message);
  }

  std::vector<Handler> handlers_;
  rmq_am am_ = nullptr;
};

}  // namespace rmq

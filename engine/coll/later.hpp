// SPDX-License-Identifier: BSD-3-Clause
// How an MPI function runs the algorithm of its collective once the arguments are checked: at once (MPI_Bcast), in the
// background (MPI_Ibcast), or in the background each time that MPI_Start says so (MPI_Bcast_init).
#pragma once

#include <memory>
#include <tuple>
#include <type_traits>
#include <vector>

#include "engine/coll/args.hpp"
#include "engine/coll/plan.hpp"
#include "engine/message/requests.hpp"
#include "engine/message/task.hpp"
#include "engine/message/transfer.hpp"

namespace rmq::mpi::coll {

/// What the ranks of a collective have to agree on, for note_collective(): bytes, if it can be told from the arguments,
/// and the root.
struct Signature {
  std::uint64_t bytes = 0;
  int root = -1;
  void add(const Buffer& b) { bytes = static_cast<std::uint64_t>(b.count) * (b.type ? b.type->size : 0); }
  void add(const Reduction& r) { bytes = static_cast<std::uint64_t>(r.count) * r.type.size; }
  void add(int rank) { root = rank; }
  template <class T>
  void add(const T&) {}
};
template <class... A>
inline void note(Comm& c, const A&... arguments) {
  Signature s;
  (s.add(arguments), ...);
  note_collective(c, s.bytes, s.root);
}

/// A message of the latest collective was longer or shorter than this rank's arguments say.
[[noreturn]] void fail_truncated(const Comm& c);

/// At once.
struct Now {
  template <class... P, class... A>
  [[gnu::always_inline]] int operator()(Comm& c, int (*algorithm)(Comm&, P...), const A&... arguments) const {
    note(c, arguments...);
    const int code = algorithm(c, arguments...);
    if (code == MPI_ERR_TRUNCATE) [[unlikely]]
      fail_truncated(c);
    return code;
  }
};

/// What the arguments of a collective refer to, kept until it is over: types and operations by a reference of its own,
/// the program's arrays by copies. Buffers are the program's.
class Kept {
 public:
  Kept() = default;
  ~Kept();
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;

  int keep(const Comm&, int root) { return root; }
  const void* keep(const Comm&, const void* data) { return data; }
  void* keep(const Comm&, void* data) { return data; }
  Buffer keep(const Comm&, const Buffer& b);
  Blocks keep(const Comm& c, const Blocks& b) { return copy(b, c.remote_size()); }
  List keep(const Comm&, const List& l) { return {copy(l.blocks, l.count), l.count}; }
  Reduction keep(const Comm&, const Reduction& r);
  Numbers keep(const Comm& c, const Numbers& n) { return copy(n, c.size()); }

 private:
  Numbers copy(const Numbers& n, int count);
  Blocks copy(const Blocks& b, int count);
  void retain(const Datatype& type);

  std::vector<std::unique_ptr<MPI_Count[]>> numbers_;
  std::vector<std::vector<const Datatype*>> type_lists_;
  std::vector<Datatype*> types_;
  Op* op_ = nullptr;
};

/// A collective behind a request.
class CollectiveRequest : public Activity, private Task {
 public:
  CollectiveRequest(Comm& c, bool persistent);
  /// Of a collective that is not persistent. Throws std::bad_alloc.
  void begin() { run(); }

  bool persistent() const override { return persistent_; }
  bool active() const override { return active_; }
  bool complete() override { return !running(); }
  int peek(MPI_Status* status) override;
  int finish(MPI_Status* status) override;
  void start() override;
  void cancel() override;
  void tell(ReportText& to) const override;
  Failure failure() const override;
  int abandon(Request* place) override;

 protected:
  Kept& kept() { return kept_; }

 private:
  [[noreturn]] void refuse(const char* what);

  const bool persistent_;
  bool active_;
  bool told_ = false;           // that it is complete, and it is active still
  Plan plan_;                   // of a persistent one
  const char* const name_;      // of the function that made it
  const std::uint32_t number_;  // of the call on its communicator
  Kept kept_;
};

/// A collective with its arguments.
template <class... P>
class Call final : public CollectiveRequest {
 public:
  using Algorithm = int (*)(Comm&, P...);
  template <class... A>
  Call(Comm& c, bool persistent, Algorithm algorithm, const A&... arguments)
      : CollectiveRequest(c, persistent), algorithm_(algorithm), arguments_{kept().keep(c, arguments)...} {}

 private:
  int body() override {
    return std::apply([this](const auto&... arguments) { return algorithm_(*comm(), arguments...); }, arguments_);
  }
  const Algorithm algorithm_;
  const std::tuple<std::remove_cvref_t<P>...> arguments_;
};

/// In the background, behind a request.
struct Later {
  MPI_Request* request;
  template <class... P, class... A>
  int operator()(Comm& c, int (*algorithm)(Comm&, P...), const A&... arguments) const {
    out(request, "request");
    auto call = std::make_unique<Call<P...>>(c, false, algorithm, arguments...);
    note(c, arguments...);
    return begin(std::move(call));
  }

 private:
  int begin(std::unique_ptr<CollectiveRequest> collective) const;
};

/// Each time that it is started, behind a persistent request.
struct Repeated {
  MPI_Info info;
  MPI_Request* request;
  template <class... P, class... A>
  int operator()(Comm& c, int (*algorithm)(Comm&, P...), const A&... arguments) const {
    optional_info_arg(info);
    out(request, "request");
    *request = new_activity_request(std::make_unique<Call<P...>>(c, true, algorithm, arguments...));
    return MPI_SUCCESS;
  }
};

}  // namespace rmq::mpi::coll

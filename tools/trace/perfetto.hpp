// SPDX-License-Identifier: BSD-3-Clause
// A trace for Perfetto (ui.perfetto.dev) in its own format: a process for each rank. Its tracks: MPI calls and sleep as
// slices, a track for each method whose packets are arrows from the sender's to the receiver's, queues and matching,
// and a track for each epoch of a window that may overlap others.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "tools/trace/output.hpp"
#include "tools/trace/protobuf.hpp"
#include "tools/trace/reader.hpp"

namespace rmq::trace {

class Perfetto {
 public:
  Perfetto(const Reader& of, Output& to);
  /// False when nothing more can be written.
  bool look(const Entry& e);

 private:
  enum Type { begin = 1, end = 2, instant = 3 };
  enum Table { categories = 1, names = 2, annotations = 3 };  // fields of InternedData
  struct Calls {
    std::uint64_t track = 0;
    int open = 0;  // one inside of the other
  };
  struct Rank {
    std::map<std::uint64_t, Calls> calls;  // by thread
    bool sleeps = false;
    std::array<bool, 64> has_track{};
  };
  struct Epoch {
    std::uint64_t track = 0;
    int open = 0;  // slices: of the epoch, and in it of the wait for its lock
  };

  std::uint64_t intern(Table table, std::string_view text);  // of a constant: its address is its name
  std::uint64_t track_of(int rank, unsigned number, std::string_view name);
  std::uint64_t track_of(int rank, Calls& calls, std::uint64_t thread);
  void describe(const Message& descriptor);
  Message& event(Type type, std::uint64_t track, std::string_view category, std::string_view name);
  void annotate(std::string_view name, std::uint64_t value);
  void emit(std::int64_t ns);

  void packet(const Entry& e);
  void call(const Entry& e);
  void sleep(const Entry& e);
  void queue(const Entry& e);
  bool epoch(const Entry& e);
  void open_epoch(const Entry& e, std::string_view role, int peer);
  void close_epoch(const Entry& e, std::string_view role, int peer);
  Epoch& epoch_of(const Entry& e, std::string_view role, int peer);

  const Reader* of_;
  Output* to_;
  std::map<int, Rank> ranks_;
  std::map<std::tuple<int, std::uint64_t, std::string_view, int>, Epoch> epochs_;  // rank, window, role, peer
  std::array<std::unordered_map<const char*, std::uint64_t>, 4> interned_;         // by Table
  std::uint64_t next_track_ = std::uint64_t{1} << 40;  // of those that are made as they are needed
  bool first_ = true;
  Message event_, annotation_, new_names_, packet_;
};

}  // namespace rmq::trace

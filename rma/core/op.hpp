// SPDX-License-Identifier: BSD-3-Clause
// An operation that travels by packets: queued, or sent and not finished. Made by Sender, from then on of its channel's
// stream's (rma/origin/op_stream.hpp), which gives it back to the pool when nothing is pending any more.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/data/data_view.hpp"
#include "base/data/layout.hpp"
#include "base/packet/packet.hpp"
#include "base/packet/request.hpp"
#include "rma/core/datatypes.hpp"
#include "rma/core/fault.hpp"

namespace rmq::rma {

class Channel;

struct Op {
  Packet packet;  // of the first piece, without flags
  Op* next = nullptr;
  Channel* channel = nullptr;
  int pending = 0;  // things that must happen: all pieces have been sent, the data has left, the answer has come
  std::uint32_t ticket = 0;
  bool replies = false;    // the answer brings data
  std::uint8_t flags = 0;  // of the last piece
  Fault fault = Fault::none;
  DataView data;                          // at the origin, to be sent
  DataView result;                        // at the origin, to be filled
  std::uint64_t bytes = 0;                // of the target's data, packed
  std::uint64_t sent = 0;                 // of these, brought or asked for by pieces so far
  std::uint64_t arrived = 0;              // of the result
  std::uint64_t number = 0;               // on its channel; 0: no piece has left
  std::uint64_t begin = 0;                // of its flight's position when it started
  std::uint64_t there = 0;                // where the data is in the target's process, if a copy at once may do it
  std::uint64_t unit = 1;                 // pieces end on multiples of this
  std::uint64_t piece = 0;                // bytes of each piece but the last
  Op *older = nullptr, *newer = nullptr;  // of those that have started and are not finished
  Request* carrier = nullptr;             // watches the data leave; while pieces are still to be sent
  Request* request = nullptr;             // the caller's, of a request-based form
  TypeOut* type = nullptr;                // the target's datatype, when it must be named
  std::unique_ptr<std::byte[]> list;      // data of an RMA_PUT_LIST, kListMost bytes
  std::uint32_t list_room = 0;            // of these, still to be filled
  std::array<LayoutRef, 2> layouts;       // keep data and result alive
  std::array<std::byte, 16> words{};      // data that fits; of compare-and-swap: comparand and new value
};

/// Operations of one device that are made again and again.
class OpPool {
 public:
  Op* take();
  void give_back(Op* op);
  /// Memory for Op::list, whose end give_back() takes care of.
  std::unique_ptr<std::byte[]> take_list();

 private:
  std::vector<std::unique_ptr<Op>> all_;
  Op* free_ = nullptr;
  std::vector<std::unique_ptr<std::byte[]>> lists_;  // that are free
};

}  // namespace rmq::rma

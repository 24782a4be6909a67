// SPDX-License-Identifier: BSD-3-Clause
// Buffered sends: a buffer that the program has attached holds copies of messages until they have left. All needs the
// device held, but for what makes and ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>

#include "engine/object/objects.hpp"

namespace rmq::mpi {

/// The memory that the program has given for copies, or that is made for each (MPI_BUFFER_AUTOMATIC), from attach to
/// detach. Each message that cannot leave at once gets a slot; the records of the slots are not in the buffer, so
/// whatever MPI_BSEND_OVERHEAD allows for is spare room.
class BsendBuffer {
 public:
  /// `memory`: of the program, which does not touch it until detach, or MPI_BUFFER_AUTOMATIC. `size`: bytes.
  BsendBuffer(void* memory, std::uint64_t size);
  ~BsendBuffer();
  BsendBuffer(const BsendBuffer&) = delete;
  BsendBuffer& operator=(const BsendBuffer&) = delete;

  void* memory() const { return memory_; }
  std::uint64_t size() const { return size_; }
  bool is_automatic() const;

  /// A slot for a copy of so many bytes; nullptr: there is no room, or no memory.
  std::byte* take(std::uint64_t bytes);
  /// The message in this slot has left. False: the slot is another buffer's.
  bool give_back(std::byte* slot);

  /// Every copy made so far has a number below this one.
  std::uint64_t next_number() const { return next_number_; }
  /// Whether no copy with a number below is in use.
  bool has_sent(std::uint64_t number) const { return numbers_.empty() || *numbers_.begin() >= number; }

  /// All there are: a message that has left finds its slot's. Touched with the device held.
  static inline BsendBuffer* newest = nullptr;
  BsendBuffer *older = newest, *newer = nullptr;

 private:
  std::byte* find_gap(std::uint64_t bytes) const;

  void* const memory_;
  const std::uint64_t size_;
  struct Slot {
    std::byte* end;
    std::uint64_t number;
  };
  std::map<std::byte*, Slot> slots_;  // by where they begin
  std::set<std::uint64_t> numbers_;   // of the slots in use
  std::uint64_t next_number_ = 0;
};

/// Sends a copy of the data. Throws MPI_ERR_BUFFER when the buffer that serves the communicator has no room for it.
void send_buffered(Comm& c, const Buffer& data, int dest, int tag);
/// The same with a request, complete from the start, by which the message can be taken back.
MPI_Request start_buffered(Comm& c, const Buffer& data, int dest, int tag);

/// Waits until no copy is in use: of any buffer, or of this one.
void drain_bsend_buffers();
void drain(const BsendBuffer& buffer);

}  // namespace rmq::mpi

// SPDX-License-Identifier: BSD-3-Clause
// Partitioned communication: a persistent message whose parts leave one by one, as the sender declares them ready.
//
// Each partition of the sender is a message of the device, so it is short or long, and waits for credit, like any
// other. Which receive it belongs to is agreed on once, by an announcement that MPI_Psend_init sends and MPI_Precv_init
// posts a receive for: the device keeps messages between two ranks in order, hence announcements match in the order of
// initialisation.
//
//   MPI_Psend_init   announcement {bytes, partitions, first tag}  context kAnnouncement + the communicator's, its tag
//   MPI_Pready(i)    partition i                                  context kPartition + the communicator's, first tag+i
//
// The source of both is the sender's rank in the communicator, as for any message: a world rank would be another
// process's in another job. A process uses its tags once; so source, communicator and tag name a partition of one pair
// of requests. The receiver posts a receive for each partition of the sender as soon as it is started and the
// announcement is there.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/message/point.hpp"

namespace rmq::mpi {

struct Announcement {
  std::uint64_t bytes;  // of each partition
  std::uint32_t partitions;
  std::uint32_t first_tag;  // of the messages, one for each partition; the others follow it
};

/// What both sides have in common. Lives until its handle is gone and the device has nothing of it any more.
class Partitioned : public Activity {
 public:
  /// `buffer` is that of one partition; `peer` MPI_PROC_NULL, or a rank.
  Partitioned(Comm& c, const Buffer& buffer, int partitions, int peer, int tag);
  ~Partitioned() override;

  bool persistent() const override { return true; }
  bool active() const override { return active_; }
  int finish(MPI_Status* status) override;
  Failure failure() const override;
  void start() override;
  int abandon(Request* place) override;
  adi::Awaited awaited() const {
    return {[](const void* object, ReportText& to) { static_cast<const Partitioned*>(object)->tell(to); }, this};
  }
  /// The communicator of a message that is part of such a request; null: it is none.
  static const Comm* comm_of(const Request& message);

 protected:
  /// The state of a run, before it begins.
  virtual void begin() = 0;
  /// A request of watch() is complete; it is given back afterwards.
  virtual void on_complete(const Request& r) = 0;

  /// A fresh device request between this rank and the peer.
  Request* make(RequestKind kind);
  /// Before the request is handed to the device: on_complete() will be called, perhaps at once.
  void watch(Request* r);

  bool nobody() const { return peer_ == MPI_PROC_NULL; }
  Rank peer_world() const { return comm()->world_of(peer_); }
  std::uint64_t partition_bytes() const { return bytes_; }
  std::uint64_t total_bytes() const { return bytes_ * static_cast<std::uint64_t>(partitions_); }
  int under_way() const { return under_way_; }
  /// Bytes [offset, offset + bytes) of the data, whole elements of the datatype, as a view.
  DataView view_at(std::uint64_t offset, std::uint64_t bytes) const;
  /// Throws unless it is one of the partitions.
  void check(int partition, const char* name) const;
  void tell_message(const char* kind, std::uint32_t context, int source, Rank peer, std::uint64_t number,
                    ReportText& to) const;

  const Buffer buffer_;
  const int partitions_, peer_, tag_;
  const std::uint64_t bytes_;  // of one partition
  bool active_ = false;
  Errc channel_error_ = Errc::ok;  // the announcement did not get through
  Errc error_ = Errc::ok;          // the first of this run

 private:
  static void on_complete_of(Request* r);
  int under_way_ = 0;  // requests of the device
  bool abandoned_ = false;
};

class PartitionedSend final : public Partitioned {
 public:
  PartitionedSend(Comm& c, const Buffer& buffer, int partitions, int dest, int tag);
  /// Once, right after it is made.
  void announce();
  void ready(int partition);
  /// All are checked before anything happens.
  void ready(std::span<const int> partitions);
  /// Both ends included.
  void ready_range(int low, int high);

  bool complete() override { return !active_ || (unready_ == 0 && under_way() == 0); }
  int peek(MPI_Status* status) override;
  void tell(ReportText& to) const override;
  bool awaits_program() const override { return !active_ || unready_ > 0; }

 private:
  void begin() override;
  void on_complete(const Request& r) override;
  void check_active() const;
  void mark(int partition);
  void unmark(int partition);
  void send(int partition);

  Announcement announcement_{};
  std::vector<bool> ready_;
  int unready_ = 0;
};

class PartitionedRecv final : public Partitioned {
 public:
  PartitionedRecv(Comm& c, const Buffer& buffer, int partitions, int source, int tag);
  /// Once, right after it is made.
  void await_announcement();
  /// Whether all of this partition's data has arrived.
  bool arrived(int partition);

  bool complete() override {
    return !active_ || nobody() || channel_error_ != Errc::ok || (posted_ && under_way() == 0);
  }
  int peek(MPI_Status* status) override;
  void tell(ReportText& to) const override;

 private:
  void begin() override;
  void on_complete(const Request& r) override;
  void announced();
  void post_all();
  void post(std::uint32_t message);
  /// First of the parts of `size` bytes that hold bytes [from, to), and one past the last, of `count`.
  struct Parts {
    std::uint64_t first, end;
  };
  static Parts parts(std::uint64_t from, std::uint64_t to, std::uint64_t size, std::uint64_t count);
  std::uint64_t message_end(std::uint64_t message) const { return (message + 1) * announcement_.bytes; }

  Announcement announcement_{};
  bool announced_ = false;
  bool posted_ = false;                 // in this run
  std::vector<std::uint32_t> missing_;  // messages that each of our partitions still waits for in this run
};

}  // namespace rmq::mpi

// SPDX-License-Identifier: BSD-3-Clause
// Chapter 4: partitioned communication, what happens inside. The functions are in point/partitioned_api.cpp.
#include "engine/message/partitioned.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace rmq::mpi {
namespace {

/// The first of as many tags of this process, which are used once until they wrap after 2^31.
std::uint32_t next_tags(std::uint32_t count) {
  constexpr std::uint32_t kTags = 1u << 31;
  static std::uint32_t next = 0;  // touched with the device held
  if (count > kTags - next) next = 0;
  const std::uint32_t first = next;
  next += count;
  return first;
}

DataView view_of(Announcement& a) {
  return DataView::contiguous(&a, sizeof a);
}

}  // namespace

// ---- both sides ----

Partitioned::Partitioned(Comm& c, const Buffer& buffer, int partitions, int peer, int tag)
    : Activity(&c),
      buffer_(buffer),
      partitions_(partitions),
      peer_(peer),
      tag_(tag),
      bytes_(static_cast<std::uint64_t>(buffer.count) * buffer.type->size) {
  std::uint64_t total;
  if (__builtin_mul_overflow(bytes_, static_cast<std::uint64_t>(partitions), &total) || total >> 62) {
    fail_call(MPI_ERR_COUNT, fmt::format("{} partitions of {} bytes are too much", partitions, bytes_));
  }
  type_retain(const_cast<Datatype&>(*buffer_.type));
}

Partitioned::~Partitioned() {
  type_release(const_cast<Datatype&>(*buffer_.type));
}

void Partitioned::check(int partition, const char* name) const {
  if (partition < 0 || partition >= partitions_) {
    const std::string allowed = partitions_ == 0 ? "there are none" : fmt::format("allowed 0..{}", partitions_ - 1);
    throw Failure{MPI_ERR_ARG, fmt::format("invalid partition {} (argument {}; {})", partition, name, allowed),
                  comm()->handle};
  }
}

DataView Partitioned::view_at(std::uint64_t offset, std::uint64_t bytes) const {
  const Datatype& t = *buffer_.type;
  auto* const base = static_cast<std::byte*>(buffer_.data);
  if (t.dense) return DataView::contiguous(base + offset, bytes);
  const std::uint64_t size = std::max<std::uint64_t>(t.size, 1);  // without data any place will do
  return t.layout->view(base + static_cast<std::int64_t>(offset / size) * t.layout->extent(), bytes / size);
}

Request* Partitioned::make(RequestKind kind) {
  Request* r = runtime().device->MPID_Request_create(kind);
  r->peer = peer_world();
  return r;
}

void Partitioned::watch(Request* r) {
  ++under_way_;
  r->user = this;
  r->on_complete = on_complete_of;
}

void Partitioned::on_complete_of(Request* r) {
  auto* const p = static_cast<Partitioned*>(r->user);
  p->on_complete(*r);  // may start others, which may be complete at once
  runtime().device->MPID_Request_free(r);
  if (--p->under_way_ == 0 && p->abandoned_) delete p;
}

const Comm* Partitioned::comm_of(const Request& message) {
  return message.on_complete == on_complete_of ? static_cast<const Partitioned*>(message.user)->comm() : nullptr;
}

void Partitioned::start() {
  if (active_) throw Failure{MPI_ERR_REQUEST, "the partitioned request is active already", comm()->handle};
  ft::check_not_revoked(*comm());
  active_ = true;
  error_ = channel_error_;
  begin();
}

int Partitioned::finish(MPI_Status* status) {
  const int code = peek(status);
  active_ = false;
  return code;
}

Failure Partitioned::failure() const {
  Failure f{error_class_of(error_), {}, comm()->handle};
  if (error_ == Errc::truncate) {
    f.what = fmt::format("rank {} sends more with tag {} than the receive has room for: {} partitions of {} bytes",
                         peer_, tag_, partitions_, bytes_);
  } else if (error_ == Errc::peer_lost) {
    f.what = lost_text(peer_world());
  }
  return f;
}

int Partitioned::abandon(Request* place) {
  runtime().device->MPID_Request_free(place);
  if (under_way_ == 0) {
    delete this;
  } else {
    abandoned_ = true;  // what has been matched with the other side stays so
  }
  return MPI_SUCCESS;
}

void Partitioned::tell_message(const char* kind, std::uint32_t context, int source, Rank peer, std::uint64_t number,
                               ReportText& to) const {
  to.begin_object();
  to.field("kind", kind);
  to.field("context", context);
  to.field("source", source);
  to.field("tag", tag_);
  to.field("peer", peer);
  to.field("bytes", bytes_);
  to.field("number", number);
  to.end_object();
}

// ---- the sender ----

PartitionedSend::PartitionedSend(Comm& c, const Buffer& buffer, int partitions, int dest, int tag)
    : Partitioned(c, buffer, partitions, dest, tag), ready_(static_cast<std::size_t>(partitions)) {}

void PartitionedSend::announce() {
  if (nobody()) return;
  announcement_ = {partition_bytes(), static_cast<std::uint32_t>(partitions_),
                   next_tags(static_cast<std::uint32_t>(partitions_))};
  Request* r = make(RequestKind::send);
  r->match = send_match(*comm(), tag_, kAnnouncement);
  r->view = view_of(announcement_);
  watch(r);
  runtime().device->MPID_Isend(r);
}

void PartitionedSend::begin() {
  std::fill(ready_.begin(), ready_.end(), false);
  unready_ = partitions_;
}

void PartitionedSend::mark(int partition) {
  check(partition, "partition");
  if (ready_[static_cast<std::size_t>(partition)]) {
    throw Failure{MPI_ERR_ARG, fmt::format("partition {} is ready already", partition), comm()->handle};
  }
  ready_[static_cast<std::size_t>(partition)] = true;
  --unready_;
}

void PartitionedSend::unmark(int partition) {
  ready_[static_cast<std::size_t>(partition)] = false;
  ++unready_;
}

void PartitionedSend::check_active() const {
  if (!active_) {
    throw Failure{MPI_ERR_REQUEST, "the partitioned request has not been started (MPI_Start)", comm()->handle};
  }
}

void PartitionedSend::ready(int partition) {
  check_active();
  mark(partition);
  if (!nobody()) send(partition);
}

void PartitionedSend::ready(std::span<const int> partitions) {
  check_active();
  std::size_t marked = 0;
  try {
    for (; marked < partitions.size(); ++marked) mark(partitions[marked]);
  } catch (const Failure&) {
    while (marked > 0) unmark(partitions[--marked]);
    throw;
  }
  if (nobody()) return;
  const adi::Device::Together together(*runtime().device, peer_world());
  for (const int p : partitions) send(p);
}

void PartitionedSend::ready_range(int low, int high) {
  check(low, "partition_low");
  check(high, "partition_high");
  if (low > high) {
    throw Failure{MPI_ERR_ARG, fmt::format("partition_low ({}) is above partition_high ({})", low, high),
                  comm()->handle};
  }
  std::vector<int> all(static_cast<std::size_t>(high - low + 1));
  std::iota(all.begin(), all.end(), low);
  ready(all);
}

void PartitionedSend::send(int partition) {
  if (comm()->revoked) [[unlikely]] {
    if (error_ == Errc::ok) error_ = Errc::revoked;
    return;
  }
  adi::Device& device = *runtime().device;
  const DataView view = view_at(bytes_ * static_cast<std::uint64_t>(partition), bytes_);
  const Match match = send_match(*comm(), static_cast<int>(announcement_.first_tag) + partition, kPartition);
  if (view.is_contiguous() && device.send_now(peer_world(), match, view.base, view.bytes)) return;
  Request* r = make(RequestKind::send);
  r->match = match;
  r->view = view;
  if (view.layout) r->layout = buffer_.type->layout;
  watch(r);
  device.MPID_Isend(r);
}

void PartitionedSend::on_complete(const Request& r) {
  if (error_ == Errc::ok) error_ = r.status.error;
}

int PartitionedSend::peek(MPI_Status* status) {
  if (active_)
    set_sent_status(status);
  else
    set_empty_status(status);
  return active_ ? error_class_of(error_) : MPI_SUCCESS;
}

void PartitionedSend::tell(ReportText& to) const {
  const Rank peer = nobody() ? kNoRank : peer_world();
  if (!active_ || unready_ > 0) {
    tell_message("ready", comm()->context, comm()->rank, peer,
                 static_cast<std::uint64_t>(active_ ? unready_ : partitions_), to);
  } else {
    tell_message("send", comm()->context, comm()->rank, peer, 0, to);
  }
}

// ---- the receiver ----

PartitionedRecv::PartitionedRecv(Comm& c, const Buffer& buffer, int partitions, int source, int tag)
    : Partitioned(c, buffer, partitions, source, tag), missing_(static_cast<std::size_t>(partitions)) {}

void PartitionedRecv::await_announcement() {
  if (nobody()) return;
  Request* r = make(RequestKind::recv);
  r->match = {comm()->recv_context + kAnnouncement, peer_, tag_};
  r->view = view_of(announcement_);
  watch(r);
  runtime().device->MPID_Irecv(r);
}

void PartitionedRecv::begin() {
  posted_ = false;
  if (announced_) post_all();
}

void PartitionedRecv::on_complete(const Request& r) {
  if (!announced_) {
    std::uint64_t total;
    const bool sane = r.status.bytes == sizeof announcement_ && announcement_.partitions <= INT32_MAX &&
                      announcement_.first_tag <= INT32_MAX &&
                      announcement_.partitions <= INT32_MAX - announcement_.first_tag + 1 &&
                      !__builtin_mul_overflow(announcement_.bytes, announcement_.partitions, &total);
    channel_error_ = r.status.error != Errc::ok ? r.status.error : sane ? Errc::ok : Errc::protocol;
    announced_ = channel_error_ == Errc::ok;
    if (!announced_) error_ = channel_error_;
    if (announced_ && active_) post_all();
    return;
  }
  if (error_ == Errc::ok) error_ = r.status.error;
  const auto message = static_cast<std::uint64_t>(r.match.tag) - announcement_.first_tag;
  const Parts mine = parts(message * announcement_.bytes, message_end(message), bytes_, missing_.size());
  for (std::uint64_t p = mine.first; p < mine.end; ++p) --missing_[p];
}

PartitionedRecv::Parts PartitionedRecv::parts(std::uint64_t from, std::uint64_t to, std::uint64_t size,
                                              std::uint64_t count) {
  if (from == to || size == 0) return {0, 0};
  return {std::min(from / size, count), std::min((to - 1) / size + 1, count)};
}

void PartitionedRecv::post_all() {
  posted_ = true;
  for (std::size_t p = 0; p < missing_.size(); ++p) {
    const Parts theirs = parts(p * bytes_, (p + 1) * bytes_, announcement_.bytes, announcement_.partitions);
    missing_[p] = static_cast<std::uint32_t>(theirs.end - theirs.first);
  }
  for (std::uint32_t m = 0; m < announcement_.partitions; ++m) post(m);
}

void PartitionedRecv::post(std::uint32_t message) {
  const std::uint64_t from = std::min(message * announcement_.bytes, total_bytes());
  const std::uint64_t room = std::min(message_end(message), total_bytes()) - from;
  const std::uint64_t size = std::max<std::uint64_t>(buffer_.type->size, 1);
  Request* r = make(RequestKind::recv);
  r->match = {comm()->recv_context + kPartition, peer_, static_cast<std::int32_t>(announcement_.first_tag + message)};
  if (buffer_.type->dense || (from % size == 0 && room % size == 0)) {
    r->view = view_at(from, room);
  } else {
    // It begins or ends inside of an element: a receive of all the data that goes on where the message belongs.
    r->view = view_at(0, from + room - (from + room) % size + ((from + room) % size ? size : 0));
    r->dest_op = DestOp::cat;
    r->appended.bytes = from;
  }
  if (r->view.layout) r->layout = buffer_.type->layout;
  watch(r);
  runtime().device->MPID_Irecv(r);
}

bool PartitionedRecv::arrived(int partition) {
  check(partition, "partition");
  if (complete()) return true;
  // What the sender does not send has arrived when all has; so has a partition without data.
  const std::uint64_t end = static_cast<std::uint64_t>(partition + 1) * bytes_;
  const bool sent = bytes_ > 0 && end <= announcement_.bytes * announcement_.partitions;
  return posted_ && sent && missing_[static_cast<std::size_t>(partition)] == 0;
}

int PartitionedRecv::peek(MPI_Status* status) {
  if (!active_) {
    set_empty_status(status);
    return MPI_SUCCESS;
  }
  if (nobody()) {
    set_proc_null_status(status);
    return MPI_SUCCESS;
  }
  set_status(status, peer_, tag_, std::min(total_bytes(), announcement_.bytes * announcement_.partitions));
  return error_class_of(error_);
}

void PartitionedRecv::tell(ReportText& to) const {
  tell_message("partitions", comm()->recv_context, peer_, nobody() ? kNoRank : peer_world(),
               static_cast<std::uint64_t>(posted_ ? under_way() : partitions_), to);
}

}  // namespace rmq::mpi

// What the device knows of one other rank. The first line is all that sending a short message touches.
#pragma once

#include <cstdint>
#include <string>

#include "base/packet.hpp"
#include "base/request.hpp"
#include "methods/method.hpp"

namespace rmq::adi {

/// First-in first-out list of requests, linked through Request::next.
class RequestList {
 public:
  bool empty() const { return head_ == nullptr; }
  Request* front() const { return head_; }
  void push_back(Request* r) {
    r->next = nullptr;
    if (tail_) {
      tail_->next = r;
    } else {
      head_ = r;
    }
    tail_ = r;
    ++size_;
  }
  void push_front(Request* r) {
    r->next = head_;
    head_ = r;
    if (!tail_) tail_ = r;
    ++size_;
  }
  Request* pop_front() {
    Request* r = head_;
    head_ = r->next;
    if (!head_) tail_ = nullptr;
    r->next = nullptr;
    --size_;
    return r;
  }
  /// Takes `r` out, wherever it stands; false when it is not in the list. Linear.
  bool remove(Request* r);
  std::size_t size() const { return size_; }

 private:
  Request* head_ = nullptr;
  Request* tail_ = nullptr;
  std::size_t size_ = 0;
};

struct alignas(kCacheLine) Peer {
  methods::Method* method = nullptr;  // how to reach it; nullptr for oneself
  methods::MethodId id = methods::MethodId::none;
  bool dropped = false;  // it has broken the protocol: nothing of it is looked at any more, until it counts as lost
  bool lost = false;
  bool scheduled = false;       // stands in the device's list of peers with waiting packets
  bool flow_due = false;        // a full link holds up a FLOW packet, which is made when it leaves
  std::uint32_t eager_max = 0;  // bytes of payload that may travel without rendezvous
  std::uint32_t next_msg = 0;   // number of the next message to it
  std::int64_t credit = 0;      // bytes of its unexpected memory that we may still fill
  std::uint32_t owed = 0;       // credit to return with the next packet to it; bytes
  std::uint32_t envelopes = 0;  // messages that may go as REQUEST_SEND without credit
  std::uint64_t held = 0;       // bytes of our unexpected memory that its messages fill
  std::uint64_t spent = 0;      // those of them that it has spent credit for: all but envelopes beyond it

  RequestList control;             // packets that spend no credit: only a full link holds them up
  RequestList pending;             // messages, in order: credit or the link holds them up
  RequestList ordered;             // packets of the floors above, in order: only a full link holds them up
  std::uint64_t answer_bytes = 0;  // of our memory that answers among these fill
  RequestList bulk;                // rendezvous data under way, one fragment at a time
  /// Whether anything waits to be sent.
  bool waits() const { return flow_due || !control.empty() || !pending.empty() || !ordered.empty() || !bulk.empty(); }
  /// Packets that wait beside the messages.
  std::size_t waiting_packets() const { return control.size() + ordered.size() + bulk.size() + flow_due; }

  std::uint32_t envelope_grant = 0;  // size of the last grant to a starving peer, doubled each time
  std::uint32_t envelopes_out = 0;   // granted and not yet used
  std::uint32_t envelopes_due = 0;   // granted and not yet told
  std::string error;                 // why it is lost
};

}  // namespace rmq::adi

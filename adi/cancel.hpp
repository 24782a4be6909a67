// SPDX-License-Identifier: BSD-3-Clause
// Cancel. A posted receive is simply withdrawn. A send that has left is taken back by an anti-send:
//
//   origin                            target
//   MPID_Cancel --- ANTI_SEND ----->  on_anti_send: remove the message if it is still unexpected
//   on_anti_send_ok <-- ANTI_SEND_OK  gone, or already matched
#pragma once

#include "adi/eager.hpp"

namespace rmq::adi {

class Cancel : public Eager {
 public:
  /// Asks to cancel. The request completes either way; status.cancelled tells. A send is taken back with an anti-send.
  void MPID_Cancel(Request* r);

 protected:
  Cancel(DeviceOptions& options, Bootstrap& bootstrap);

 private:
  static void on_anti_send(void* device, Rank from, const Packet& p, const std::byte* payload);
  static void on_anti_send_ok(void* device, Rank from, const Packet& p, const std::byte* payload);
};

}  // namespace rmq::adi

// SPDX-License-Identifier: BSD-3-Clause
// Messages to oneself: no packet, no method. A small one is buffered; a long one waits in the unexpected queue as a
// reference to its send request until a receive copies straight from view to view.
#pragma once

#include "adi/arrivals.hpp"

namespace rmq::adi {

class Self : public Arrivals {
 protected:
  using Arrivals::Arrivals;

  void send_to_self(Request* r);
  void receive_from_self(Request* recv, Request* message);
  void cancel_send_to_self(Request* r);

 private:
  void copy_self(Request* recv, const Match& m, const DataView& data);
};

}  // namespace rmq::adi

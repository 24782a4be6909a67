// SPDX-License-Identifier: BSD-3-Clause
// ranks: 4
#include "queue_exchange.hpp"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  queue_test::suite<rmq::PortableQueueBuffer>(200);
  return check::finish();
}

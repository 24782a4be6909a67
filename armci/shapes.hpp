// SPDX-License-Identifier: BSD-3-Clause
// Layouts of strided data, for operations that go by packets: the latest ones are kept, since a target that has been
// told of a layout knows it again only as long as it is the same object (rma/core/datatypes.hpp).
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <vector>

#include "armci/transfer.hpp"
#include "base/data/layout.hpp"

namespace rmq::armci {

class Shapes {
 public:
  /// Of elements of that predefined type. Valid until kMost others have been asked for; who holds a reference, longer.
  LayoutRef get(MPI_Datatype type, const Shape& shape);
  void clear();

 private:
  static constexpr std::size_t kMost = 256;

  using Key = std::vector<int>;
  struct Kept {
    Key key;
    LayoutRef layout;
  };
  std::list<Kept> all_;  // the latest first
  std::map<Key, std::list<Kept>::iterator> by_key_;
};

/// The device held.
Shapes& shapes();

}  // namespace rmq::armci

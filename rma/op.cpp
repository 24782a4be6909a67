#include "rma/op.hpp"

namespace rmq::rma {

Op* OpPool::take() {
  if (!free_) {
    all_.push_back(std::make_unique<Op>());
    return all_.back().get();
  }
  Op* op = free_;
  free_ = op->next;
  *op = Op{};
  return op;
}

void OpPool::give_back(Op* op) {
  op->layouts = {};
  op->next = free_;
  free_ = op;
}

}  // namespace rmq::rma

// SPDX-License-Identifier: BSD-3-Clause
#include "rma/core/op.hpp"

#include <utility>

#include "rma/packet/put_list.hpp"

namespace rmq::rma {
namespace {

constexpr std::size_t kSpareLists = 64;  // that are kept for the next ones

}  // namespace

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
  if (op->list && lists_.size() < kSpareLists) lists_.push_back(std::move(op->list));
  op->list.reset();
  op->next = free_;
  free_ = op;
}

std::unique_ptr<std::byte[]> OpPool::take_list() {
  if (lists_.empty()) return std::make_unique_for_overwrite<std::byte[]>(kListMost);
  std::unique_ptr<std::byte[]> list = std::move(lists_.back());
  lists_.pop_back();
  return list;
}

}  // namespace rmq::rma

// SPDX-License-Identifier: BSD-3-Clause
// Serialised layouts; the format is tabled in design/datatypes.md. Shared nodes are written once, children before
// parents, and a record refers to others by index: a reader needs no recursion and no record can be its own ancestor.
// The reader rebuilds nodes exactly as written and does not normalise, so its memory is linear in the input.
#include <fmt/format.h>

#include <limits>
#include <unordered_map>

#include "base/data/layout.hpp"
#include "base/data/layout_node.hpp"
#include "base/data/layout_signature.hpp"
#include "base/data/reduction.hpp"

namespace rmq {
namespace {

using layout_detail::Node;
using layout_detail::NodeKind;
using layout_detail::NodeRef;
using layout_detail::Signature;
using layout_detail::SignatureKind;
using layout_detail::SignatureRef;

constexpr std::uint32_t kMagic = 0x4c514d52;  // "RMQL"
constexpr std::uint16_t kVersion = 1;
constexpr std::uint16_t kLowerMarked = 1;
constexpr std::uint16_t kUpperMarked = 2;
constexpr std::uint32_t kMaxAlignment = 64;
constexpr std::size_t kMinRecord = 9;  // bytes; the shortest record: a sequence of one

class Writer {
 public:
  template <class Integer>
  void put(Integer value) {
    const auto bits = static_cast<std::make_unsigned_t<Integer>>(value);
    for (std::size_t i = 0; i < sizeof bits; ++i) bytes_.push_back(static_cast<std::byte>(bits >> (8 * i) & 0xff));
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

/// Reads past the end yield zeros and set failed(): callers check once per record.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}
  template <class Integer>
  Integer get() {
    using Bits = std::make_unsigned_t<Integer>;
    if (bytes_.size() < sizeof(Bits)) {
      failed_ = true;
      return 0;
    }
    Bits bits = 0;
    for (std::size_t i = 0; i < sizeof bits; ++i) {
      bits = static_cast<Bits>(bits | static_cast<Bits>(static_cast<Bits>(bytes_[i]) << (8 * i)));
    }
    bytes_ = bytes_.subspan(sizeof bits);
    return static_cast<Integer>(bits);
  }
  /// Whether `count` records of at least `size` bytes can follow.
  bool has(std::uint64_t count, std::size_t size) const { return count <= bytes_.size() / size; }
  bool failed() const { return failed_; }
  std::size_t left() const { return bytes_.size(); }

 private:
  std::span<const std::byte> bytes_;
  bool failed_ = false;
};

/// Numbers shared nodes in the order children before parents.
template <class T>
class Numbering {
 public:
  template <class VisitChildren>
  void add(const T* node, VisitChildren&& visit_children) {
    if (node == nullptr || index_.contains(node)) return;
    visit_children(*node, [&](const T* child) { add(child, visit_children); });
    index_.emplace(node, static_cast<std::uint32_t>(order_.size()));
    order_.push_back(node);
  }
  /// 0 for null, else the index plus one.
  std::uint32_t reference(const std::shared_ptr<const T>& node) const { return node ? index_.at(node.get()) + 1 : 0; }
  const std::vector<const T*>& order() const { return order_; }

 private:
  std::unordered_map<const T*, std::uint32_t> index_;
  std::vector<const T*> order_;
};

void write(Writer& to, const Signature& signature, const Numbering<Signature>& numbers) {
  to.put(static_cast<std::uint8_t>(signature.kind));
  switch (signature.kind) {
    case SignatureKind::run:
      to.put(static_cast<std::uint8_t>(signature.type));
      to.put(signature.unit);
      to.put(signature.count);
      return;
    case SignatureKind::repeat:
      to.put(numbers.reference(signature.child));
      to.put(signature.count);
      return;
    case SignatureKind::sequence:
      to.put(static_cast<std::uint32_t>(signature.parts.size()));
      for (const SignatureRef& part : signature.parts) to.put(numbers.reference(part));
      return;
  }
}

void write(Writer& to, const Node& node, const Numbering<Node>& numbers) {
  to.put(static_cast<std::uint8_t>(node.kind));
  to.put(node.count);
  if (node.kind == NodeKind::list) {
    for (std::size_t i = 0; i < node.count; ++i) {
      to.put(node.displacements[i]);
      to.put(node.starts[i + 1] - node.starts[i]);
      to.put(node.children.empty() ? std::uint32_t{0} : numbers.reference(node.children[i]));
    }
    return;
  }
  to.put(node.unit);
  to.put(numbers.reference(node.child));
  if (node.kind == NodeKind::loop) {
    to.put(node.stride);
  } else {
    for (const std::int64_t at : node.displacements) to.put(at);
  }
}

/// The record `reference` names among those already read; null for 0. False when there is none.
template <class T>
bool resolve(std::uint32_t reference, const std::vector<std::shared_ptr<const T>>& known,
             std::shared_ptr<const T>& to) {
  if (reference > known.size()) return false;
  to = reference == 0 ? nullptr : known[reference - 1];
  return true;
}

bool read(Reader& from, const std::vector<SignatureRef>& known, Signature& to) {
  to.kind = static_cast<SignatureKind>(from.get<std::uint8_t>());
  switch (to.kind) {
    case SignatureKind::run: {
      to.type = static_cast<Basic>(from.get<std::uint8_t>());
      to.unit = from.get<std::uint32_t>();
      to.count = from.get<std::uint64_t>();
      // Whoever computes with elements divides by this unit and then touches whole elements.
      const auto packed = basic_packed_size(to.type);
      return packed && (*packed == 0 || *packed == to.unit);
    }
    case SignatureKind::repeat: {
      const auto child = from.get<std::uint32_t>();
      to.count = from.get<std::uint64_t>();
      return resolve(child, known, to.child);
    }
    case SignatureKind::sequence: {
      const auto count = from.get<std::uint32_t>();
      if (!from.has(count, sizeof(std::uint32_t))) return false;
      to.parts.resize(count);
      for (SignatureRef& part : to.parts) {
        if (!resolve(from.get<std::uint32_t>(), known, part)) return false;
      }
      return true;
    }
  }
  return false;
}

bool read_list(Reader& from, const std::vector<NodeRef>& known, Node& to) {
  if (!from.has(to.count, 20)) return false;
  bool only_runs = true;
  to.displacements.reserve(to.count);
  to.starts.reserve(to.count + 1);
  to.starts.push_back(0);
  to.children.resize(to.count);
  for (std::size_t i = 0; i < to.count; ++i) {
    to.displacements.push_back(from.get<std::int64_t>());
    std::uint64_t end = 0;
    if (__builtin_add_overflow(to.starts.back(), from.get<std::uint64_t>(), &end)) return false;
    to.starts.push_back(end);
    if (!resolve(from.get<std::uint32_t>(), known, to.children[i])) return false;
    only_runs = only_runs && !to.children[i];
  }
  if (only_runs) to.children.clear();
  return true;
}

bool read(Reader& from, const std::vector<NodeRef>& known, Node& to) {
  to.kind = static_cast<NodeKind>(from.get<std::uint8_t>());
  to.count = from.get<std::uint64_t>();
  if (to.kind == NodeKind::list) return read_list(from, known, to);
  const auto unit = from.get<std::uint64_t>();
  to.unit = unit;
  if (!resolve(from.get<std::uint32_t>(), known, to.child) || (to.child && to.child->size != unit)) return false;
  if (to.kind == NodeKind::loop) {
    to.stride = from.get<std::int64_t>();
    return true;
  }
  if (to.kind != NodeKind::scatter || !from.has(to.count, sizeof(std::int64_t))) return false;
  to.displacements.reserve(to.count);
  for (std::size_t i = 0; i < to.count; ++i) to.displacements.push_back(from.get<std::int64_t>());
  return true;
}

/// `count` records; the last one is the root.
template <class T>
bool read_all(Reader& from, std::uint32_t count, std::shared_ptr<const T>& root) {
  if (!from.has(count, kMinRecord)) return false;
  std::vector<std::shared_ptr<const T>> records;
  records.reserve(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    T record;
    if (!read(from, records, record) || from.failed() || !complete(record)) return false;
    records.push_back(std::make_shared<const T>(std::move(record)));
  }
  if (count != 0) root = std::move(records.back());
  return true;
}

bool consistent(Layout::Data& data) {
  const bool power_of_two = data.alignment != 0 && (data.alignment & (data.alignment - 1)) == 0;
  const std::uint64_t root_size = data.root ? data.root->size : data.size;
  const std::uint64_t signature_size = data.signature ? data.signature->bytes : 0;
  std::int64_t extent = 0;
  return power_of_two && data.alignment <= kMaxAlignment && root_size == data.size && signature_size == data.size &&
         (data.size != 0 || data.origin == 0) && !__builtin_sub_overflow(data.ub, data.lb, &extent) &&
         layout_detail::bounds({data.origin, data.size, data.root}, data.true_lb, data.true_ub);
}

}  // namespace

std::vector<std::byte> Layout::serialise() const {
  Numbering<Signature> signatures;
  signatures.add(data_.signature.get(), [](const Signature& of, auto&& visit) {
    if (of.child) visit(of.child.get());
    for (const SignatureRef& part : of.parts) visit(part.get());
  });
  Numbering<Node> nodes;
  nodes.add(data_.root.get(), [](const Node& of, auto&& visit) {
    if (of.child) visit(of.child.get());
    for (const NodeRef& child : of.children) visit(child.get());
  });
  Writer to;
  to.put(kMagic);
  to.put(kVersion);
  to.put(static_cast<std::uint16_t>((data_.lb_marked ? kLowerMarked : 0) | (data_.ub_marked ? kUpperMarked : 0)));
  to.put(data_.alignment);
  to.put(static_cast<std::uint32_t>(signatures.order().size()));
  to.put(static_cast<std::uint32_t>(nodes.order().size()));
  to.put(data_.origin);
  to.put(data_.lb);
  to.put(data_.ub);
  to.put(data_.size);
  for (const Signature* signature : signatures.order()) write(to, *signature, signatures);
  for (const Node* node : nodes.order()) write(to, *node, nodes);
  return to.take();
}

Result<LayoutRef> Layout::deserialise(std::span<const std::byte> bytes) {
  Reader from(bytes);
  const auto magic = from.get<std::uint32_t>();
  const auto version = from.get<std::uint16_t>();
  if (from.failed() || magic != kMagic || version != kVersion) {
    return fail(Errc::protocol, fmt::format("serialised datatype: magic {:#x} version {}, expected {:#x} version {}; "
                                            "do all ranks run the same RMQ?",
                                            magic, version, kMagic, kVersion));
  }
  const auto flags = from.get<std::uint16_t>();
  Data data;
  data.lb_marked = (flags & kLowerMarked) != 0;
  data.ub_marked = (flags & kUpperMarked) != 0;
  data.alignment = from.get<std::uint32_t>();
  const auto signature_records = from.get<std::uint32_t>();
  const auto node_records = from.get<std::uint32_t>();
  data.origin = from.get<std::int64_t>();
  data.lb = from.get<std::int64_t>();
  data.ub = from.get<std::int64_t>();
  data.size = from.get<std::uint64_t>();
  const bool sound = flags <= (kLowerMarked | kUpperMarked) && read_all(from, signature_records, data.signature) &&
                     read_all(from, node_records, data.root) && !from.failed() && from.left() == 0 && consistent(data);
  if (!sound) return fail(Errc::protocol, fmt::format("serialised datatype of {} bytes is malformed", bytes.size()));
  return make(std::move(data));
}

}  // namespace rmq

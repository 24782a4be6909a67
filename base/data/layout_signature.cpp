// SPDX-License-Identifier: BSD-3-Clause
#include "base/data/layout_signature.hpp"

#include <algorithm>
#include <limits>

#include "base/data/layout_node.hpp"

namespace rmq::layout_detail {
namespace {

constexpr std::uint64_t kMaxUnit = 64;  // bytes; the largest predefined type has 32

/// Packed bytes of the first member of a pair type; 0 for any other. MPI_Get_elements counts the members of a pair.
std::uint32_t first_of_pair(Basic type, std::uint32_t unit) {
  switch (type) {
    case Basic::f32_i32:
    case Basic::f64_i32:
    case Basic::i64_i32:
    case Basic::i16_i32:
    case Basic::i32_i32:
    case Basic::f80_i32:
      return unit > 4 ? unit - 4 : 0;
    case Basic::f32_f32:
    case Basic::f64_f64:
      return unit / 2;
    default:
      return 0;
  }
}

std::optional<SignatureRef> publish(Signature&& signature) {
  if (!complete(signature)) return std::nullopt;
  return std::make_shared<const Signature>(std::move(signature));
}

bool same_run(const SignatureRef& a, const SignatureRef& b) {
  return a->kind == SignatureKind::run && b->kind == SignatureKind::run && a->type == b->type && a->unit == b->unit;
}

bool complete_sequence(Signature& signature) {
  if (signature.parts.empty()) return false;
  signature.byte_ends.clear();
  signature.element_ends.clear();
  signature.bytes = signature.elements = 0;
  for (const SignatureRef& part : signature.parts) {
    if (!part || __builtin_add_overflow(signature.bytes, part->bytes, &signature.bytes)) return false;
    signature.elements += part->elements;  // <= bytes
    signature.depth = std::max(signature.depth, part->depth + 1);
    signature.byte_ends.push_back(signature.bytes);
    signature.element_ends.push_back(signature.elements);
  }
  return true;
}

}  // namespace

bool complete(Signature& signature) {
  signature.depth = 1;
  switch (signature.kind) {
    case SignatureKind::run:
      if (signature.count == 0 || signature.unit == 0 || signature.unit > kMaxUnit) return false;
      if (__builtin_mul_overflow(signature.count, signature.unit, &signature.bytes)) return false;
      signature.elements = signature.count * (first_of_pair(signature.type, signature.unit) != 0 ? 2 : 1);
      break;
    case SignatureKind::repeat:
      if (signature.count == 0 || !signature.child) return false;
      if (__builtin_mul_overflow(signature.count, signature.child->bytes, &signature.bytes)) return false;
      signature.elements = signature.count * signature.child->elements;  // <= bytes
      signature.depth = signature.child->depth + 1;
      break;
    case SignatureKind::sequence:
      if (!complete_sequence(signature)) return false;
      break;
    default:
      return false;
  }
  return signature.depth <= kMaxDepth &&
         signature.bytes <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
}

std::optional<SignatureRef> signature_run(Basic type, std::uint64_t unit, std::uint64_t count) {
  if (unit == 0 || count == 0) return SignatureRef{};
  if (unit > kMaxUnit) return std::nullopt;
  Signature run;
  run.kind = SignatureKind::run;
  run.type = type;
  run.unit = static_cast<std::uint32_t>(unit);
  run.count = count;
  return publish(std::move(run));
}

std::optional<SignatureRef> signature_repeat(std::uint64_t count, const SignatureRef& of) {
  if (count == 0 || !of) return SignatureRef{};
  if (count == 1) return of;
  Signature repeat;
  if (of->kind == SignatureKind::sequence) {
    repeat.kind = SignatureKind::repeat;
    repeat.child = of;
    repeat.count = count;
  } else {
    repeat = *of;  // a run or a repeat: just more of the same
    if (__builtin_mul_overflow(of->count, count, &repeat.count)) return std::nullopt;
  }
  return publish(std::move(repeat));
}

std::optional<SignatureRef> signature_sequence(std::vector<SignatureRef> parts) {
  std::erase(parts, nullptr);
  std::size_t total = 0;
  for (const SignatureRef& part : parts) total += part->kind == SignatureKind::sequence ? part->parts.size() : 1;
  const bool flatten = total <= kSpliceLimit;
  Signature sequence;
  sequence.kind = SignatureKind::sequence;
  const auto append = [&](const SignatureRef& part) {
    if (sequence.parts.empty() || !same_run(sequence.parts.back(), part)) {
      sequence.parts.push_back(part);
      return true;
    }
    std::uint64_t count = 0;
    if (__builtin_add_overflow(sequence.parts.back()->count, part->count, &count)) return false;
    const auto joined = signature_run(part->type, part->unit, count);
    if (joined) sequence.parts.back() = *joined;
    return joined.has_value();
  };
  for (const SignatureRef& part : parts) {
    if (flatten && part->kind == SignatureKind::sequence) {
      for (const SignatureRef& inner : part->parts) {
        if (!append(inner)) return std::nullopt;
      }
    } else if (!append(part)) {
      return std::nullopt;
    }
  }
  if (sequence.parts.empty()) return SignatureRef{};
  if (sequence.parts.size() == 1) return sequence.parts[0];
  return publish(std::move(sequence));
}

std::uint64_t elements_in(const Signature& of, std::uint64_t bytes, std::uint64_t& rest) {
  rest = 0;
  if (bytes == of.bytes) return of.elements;
  switch (of.kind) {
    case SignatureKind::run: {
      const std::uint32_t first = first_of_pair(of.type, of.unit);
      const std::uint64_t whole = bytes / of.unit;
      rest = bytes % of.unit;
      if (first == 0) return whole;
      const bool half = rest >= first;
      if (half) rest -= first;
      return 2 * whole + (half ? 1 : 0);
    }
    case SignatureKind::repeat:
      return bytes / of.child->bytes * of.child->elements + elements_in(*of.child, bytes % of.child->bytes, rest);
    case SignatureKind::sequence: {
      const auto end = std::upper_bound(of.byte_ends.begin(), of.byte_ends.end(), bytes);
      const auto part = static_cast<std::size_t>(end - of.byte_ends.begin());
      const std::uint64_t bytes_before = part == 0 ? 0 : of.byte_ends[part - 1];
      const std::uint64_t elements_before = part == 0 ? 0 : of.element_ends[part - 1];
      return elements_before + elements_in(*of.parts[part], bytes - bytes_before, rest);
    }
  }
  return 0;
}

void append_runs(const Signature& of, std::vector<std::pair<Basic, std::uint64_t>>& to) {
  switch (of.kind) {
    case SignatureKind::run:
      if (!to.empty() && to.back().first == of.type) {
        to.back().second += of.count;
      } else {
        to.emplace_back(of.type, of.count);
      }
      return;
    case SignatureKind::repeat:
      for (std::uint64_t i = 0; i < of.count; ++i) append_runs(*of.child, to);
      return;
    case SignatureKind::sequence:
      for (const SignatureRef& part : of.parts) append_runs(*part, to);
      return;
  }
}

}  // namespace rmq::layout_detail

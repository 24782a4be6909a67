// SPDX-License-Identifier: BSD-3-Clause
// What the keys of a window's info (MPI-4.1, section 12.2.1) mean to it.
#include <bit>
#include <charconv>

#include "engine/window/windows.hpp"

namespace rmq::mpi {
namespace {

constexpr std::string_view kGranularity = "mpi_accumulate_granularity", kAlignment = "mpi_minimum_memory_alignment";

/// Takes over what a key says; a value that means nothing changes nothing.
void take_flag(const Info& info, std::string_view key, bool& flag) {
  const std::string* value = hint_of(info, key);
  if (value && (*value == "true" || *value == "false")) flag = *value == "true";
}

/// 0 where the key is absent or its value is no number.
std::uint64_t number_of(const Info& info, std::string_view key) {
  const std::string* text = hint_of(info, key);
  std::uint64_t value = 0;
  if (!text) return 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  return error == std::errc{} && end == text->data() + text->size() ? value : 0;
}

const char* word(bool flag) {
  return flag ? "true" : "false";
}

}  // namespace

const std::string* hint_of(const Info& info, std::string_view key) {
  for (const auto& [k, value] : info.entries) {
    if (k == key) return &value;
  }
  return nullptr;
}

bool is_structural_hint(std::string_view key) {
  return key == "no_locks" || key == "alloc_shared_noncontig" || key == kGranularity || key == kAlignment;
}

std::uint64_t alignment_of(const Info& info) {
  const std::uint64_t bytes = number_of(info, kAlignment);
  return std::has_single_bit(bytes) ? bytes : 1;
}

rma::Hints hints_of(const Info* info) {
  rma::Hints h;
  if (!info) return h;
  take_flag(*info, "no_locks", h.no_locks);
  take_flag(*info, "same_size", h.same_size);
  take_flag(*info, "same_disp_unit", h.same_disp_unit);
  take_flag(*info, "alloc_shared_noncontig", h.noncontiguous);
  h.granularity = number_of(*info, kGranularity);
  h.alignment = alignment_of(*info);
  if (const std::string* ops = hint_of(*info, "accumulate_ops")) h.same_op_no_op = *ops != "same_op";
  if (const std::string* order = hint_of(*info, "accumulate_ordering")) h.ordered = *order != "none";
  return h;
}

Info describe_hints(const rma::Hints& hints, rma::Flavor flavor) {
  Info info;
  info.entries = {{"no_locks", word(hints.no_locks)},
                  {"accumulate_ordering", hints.ordered ? "rar,raw,war,waw" : "none"},
                  {"accumulate_ops", hints.same_op_no_op ? "same_op_no_op" : "same_op"},
                  {std::string(kGranularity), std::to_string(hints.granularity)},
                  {"same_size", word(hints.same_size)},
                  {"same_disp_unit", word(hints.same_disp_unit)}};
  const bool allocates = flavor == rma::Flavor::allocate || flavor == rma::Flavor::shared;
  if (allocates && hints.alignment > 1) info.entries.emplace_back(kAlignment, std::to_string(hints.alignment));
  if (flavor == rma::Flavor::shared) info.entries.emplace_back("alloc_shared_noncontig", word(hints.noncontiguous));
  return info;
}

}  // namespace rmq::mpi

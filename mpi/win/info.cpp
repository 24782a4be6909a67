// Chapter 12.2.7: info of windows, and what its keys (section 12.2.1) mean to one.
#include <algorithm>
#include <bit>
#include <charconv>

#include "mpi/internal/windows.hpp"

namespace rmq::mpi {
namespace {

constexpr std::string_view kGranularity = "mpi_accumulate_granularity", kAlignment = "mpi_minimum_memory_alignment";

const std::string* value_of(const Info& info, std::string_view key) {
  for (const auto& [k, value] : info.entries) {
    if (k == key) return &value;
  }
  return nullptr;
}

/// Takes over what a key says; a value that means nothing changes nothing.
void take_flag(const Info& info, std::string_view key, bool& flag) {
  const std::string* value = value_of(info, key);
  if (value && (*value == "true" || *value == "false")) flag = *value == "true";
}

/// 0 where the key is absent or its value is no number.
std::uint64_t number_of(const Info& info, std::string_view key) {
  const std::string* text = value_of(info, key);
  std::uint64_t value = 0;
  if (!text) return 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  return error == std::errc{} && end == text->data() + text->size() ? value : 0;
}

const char* word(bool flag) {
  return flag ? "true" : "false";
}

bool is_structural(std::string_view key) {
  return key == "no_locks" || key == "alloc_shared_noncontig" || key == kGranularity || key == kAlignment;
}

/// Keys that describe how the program will use the window are taken over; what a window is made of stays.
void set_info(Win& w, const Info& info) {
  const Info wanted = describe_hints(hints_of(&info), w.window->flavor());
  for (auto& [key, value] : w.hints.entries) {
    const std::string* asked = value_of(info, key);
    if (!asked || is_structural(key)) continue;
    if (key == "accumulate_ordering") {
      value = *asked;
    } else {
      value = *value_of(wanted, key);
    }
  }
}

}  // namespace

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
  if (const std::string* ops = value_of(*info, "accumulate_ops")) h.same_op_no_op = *ops != "same_op";
  if (const std::string* order = value_of(*info, "accumulate_ordering")) h.ordered = *order != "none";
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

RMQ_MPI(int, Win_set_info, (MPI_Win win, MPI_Info info)) {
  return enter_win(win, [&](Win& w) { set_info(w, info_arg(info)); });
}

RMQ_MPI(int, Win_get_info, (MPI_Win win, MPI_Info* info_used)) {
  return enter_win(win, [&](Win& w) {
    out(info_used, "info_used");
    auto info = std::make_unique<Info>(w.hints);
    info->entries.emplace_back(kMemoryKindsKey, kMemoryKinds);
    *info_used = runtime().infos.add(std::move(info))->handle;
  });
}

}  // namespace rmq::mpi

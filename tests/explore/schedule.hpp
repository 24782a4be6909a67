// SPDX-License-Identifier: BSD-3-Clause
// What one schedule is made of: the choices that it consists of, and the line of the sources that a mutant breaks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/explore/explorer.hpp"

namespace rmq::explore {

/// A list of choices that is walked depth first, or drawn from a seed.
class Choices {
 public:
  /// The next one of `n` (2 and more); 0 goes on as if nothing were to be chosen.
  std::size_t next(std::size_t n, unsigned one_in) {
    if (random_) return (*random_)() % one_in != 0 ? 0 : 1 + (*random_)() % (n - 1);
    if (at_ == list_.size()) list_.push_back({0, static_cast<std::uint16_t>(n)});
    return list_[at_++].chosen;
  }
  bool random() const { return random_.has_value(); }

  void again() { at_ = 0; }
  void seed(std::uint64_t number) { random_.emplace(number); }
  /// The next list of choices, depth first; false when there is none.
  bool advance() {
    at_ = 0;
    while (!list_.empty() && list_.back().chosen + 1 == list_.back().of) list_.pop_back();
    if (list_.empty()) return false;
    ++list_.back().chosen;
    return true;
  }

 private:
  struct Choice {
    std::uint16_t chosen, of;
  };
  std::vector<Choice> list_;
  std::size_t at_ = 0;
  std::optional<std::mt19937_64> random_;
};

/// Whether a place in the sources is the mutant's line.
class Site {
 public:
  explicit Site(const Mutant* mutant) : mutant_(mutant) {}
  bool reached() const { return reached_; }

  bool is(const Where& where, Change change) {
    if (!mutant_ || mutant_->change != change) return false;
    const auto [known, fresh] = known_.try_emplace({where.file_name(), where.line()}, false);
    if (fresh) known->second = look(where);
    reached_ = reached_ || known->second;
    return known->second;
  }

 private:
  bool look(const Where& where) const;

  const Mutant* mutant_;
  bool reached_ = false;
  std::map<std::pair<const char*, unsigned>, bool> known_;
};

}  // namespace rmq::explore

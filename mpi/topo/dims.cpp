// SPDX-License-Identifier: BSD-3-Clause
// Chapter 8.5.2: MPI_Dims_create.
//
// MPI wants dimensions "as close to each other as possible". That is read as: the least difference between the largest
// and the smallest; among those the larger smallest one, then the larger second smallest, and so on.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "mpi/define.hpp"

namespace rmq::mpi {
namespace {

using Factors = std::vector<int>;

/// Ascending, each as often as it divides n.
Factors prime_factors(int n) {
  Factors primes;
  for (int p = 2; p <= n / p; ++p) {
    for (; n % p == 0; n /= p) primes.push_back(p);
  }
  if (n > 1) primes.push_back(n);
  return primes;
}

/// Ascending.
Factors divisors(const Factors& primes) {
  Factors all{1};
  for (std::size_t i = 0, before = 0; i < primes.size(); ++i) {
    // A repeated prime only extends what its last occurrence has added.
    const bool again = i > 0 && primes[i] == primes[i - 1];
    const std::size_t end = all.size();
    for (std::size_t k = again ? before : 0; k < end; ++k) all.push_back(all[k] * primes[i]);
    before = end;
  }
  std::sort(all.begin(), all.end());
  return all;
}

/// Whether base^exponent > limit.
bool power_exceeds(std::int64_t base, int exponent, std::int64_t limit) {
  std::int64_t power = 1;
  for (int i = 0; i < exponent; ++i) {
    power *= base;
    if (power > limit) return true;
  }
  return false;
}

/// Finds the best product of k factors, kept in ascending order, by trying them from the smallest on.
class Search {
 public:
  Search(int n, int k, const Factors& primes)
      : k_(k), divisors_(divisors(primes)), best_(some_factors(k, primes)), trial_(static_cast<std::size_t>(k)) {
    // The smallest factor from its largest possible value down, until even equal others would not be closer to it.
    for (std::size_t i = divisors_.size(); i-- > 0;) {
      const int smallest = divisors_[i];
      if (power_exceeds(smallest, k, n)) continue;
      if (!power_exceeds(smallest + spread(best_), k - 1, n / smallest - 1)) break;
      trial_[0] = smallest;
      extend(1, i, n / smallest);
    }
  }
  const Factors& best() const { return best_; }

 private:
  static int spread(const Factors& f) { return f.back() - f.front(); }

  /// Each prime, from the largest on, goes to the smallest factor so far.
  static Factors some_factors(int k, const Factors& primes) {
    Factors f(static_cast<std::size_t>(k), 1);
    for (std::size_t i = primes.size(); i-- > 0;) *std::min_element(f.begin(), f.end()) *= primes[i];
    std::sort(f.begin(), f.end());
    return f;
  }

  /// trial_ has `filled` factors, the last being divisor `at`; those to come make `rest`, which has room for that many
  /// as large.
  void extend(int filled, std::size_t at, int rest) {
    const int missing = k_ - filled, most = trial_[0] + spread(best_);
    if (missing == 1) {
      trial_[static_cast<std::size_t>(filled)] = rest;
      return consider();
    }
    if (!power_exceeds(most, missing, rest - 1)) return;  // even the largest ones are not enough
    for (; at < divisors_.size() && !power_exceeds(divisors_[at], missing, rest); ++at) {
      if (rest % divisors_[at] != 0) continue;
      trial_[static_cast<std::size_t>(filled)] = divisors_[at];
      extend(filled + 1, at, rest / divisors_[at]);
    }
  }

  void consider() {
    const int difference = spread(trial_) - spread(best_);
    if (difference < 0 || (difference == 0 && trial_ > best_)) best_ = trial_;
  }

  const int k_;
  const Factors divisors_;
  Factors best_, trial_;
};

/// k factors of n, descending.
Factors balanced(int n, int k) {
  const Factors primes = prime_factors(n);
  Factors factors;
  if (static_cast<int>(primes.size()) <= k) {  // nothing is closer than the primes themselves
    factors.assign(static_cast<std::size_t>(k) - primes.size(), 1);
    factors.insert(factors.end(), primes.begin(), primes.end());
  } else {
    factors = k == 1 ? Factors{n} : Search(n, k, primes).best();
  }
  std::reverse(factors.begin(), factors.end());
  return factors;
}

void create_dims(int nnodes, int ndims, int* dims) {
  std::int64_t fixed = 1;
  int free = 0;
  for (int i = 0; i < ndims; ++i) {
    if (dims[i] < 0) {
      fail_call(MPI_ERR_DIMS, fmt::format("dims[{}] is {} (argument dims; must not be negative)", i, dims[i]));
    }
    if (dims[i] == 0) {
      ++free;
    } else if (fixed <= nnodes) {  // else it cannot divide nnodes any more, and must not overflow
      fixed *= dims[i];
    }
  }
  if (fixed > nnodes || nnodes % fixed != 0 || (free == 0 && fixed != nnodes)) {
    fail_call(MPI_ERR_DIMS, fmt::format("the given dimensions multiply to {}, which {} {} (arguments nnodes, dims)",
                                        fixed, free == 0 ? "is not" : "does not divide", nnodes));
  }
  if (free == 0) return;
  const Factors factors = balanced(static_cast<int>(nnodes / fixed), free);
  auto next = factors.begin();
  for (int i = 0; i < ndims; ++i) {
    if (dims[i] == 0) dims[i] = *next++;
  }
}

}  // namespace

RMQ_MPI(int, Dims_create, (int nnodes, int ndims, int dims[])) {
  return enter([&] {
    if (nnodes < 1) fail_call(MPI_ERR_ARG, fmt::format("invalid nnodes {} (argument nnodes; at least 1)", nnodes));
    if (ndims < 0) fail_call(MPI_ERR_DIMS, fmt::format("invalid ndims {} (argument ndims; not negative)", ndims));
    create_dims(nnodes, ndims, ndims > 0 ? out(dims, "dims") : nullptr);
  });
}

}  // namespace rmq::mpi

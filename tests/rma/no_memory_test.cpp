// SPDX-License-Identifier: BSD-3-Clause
// Shared windows that no machine has the memory for: a member tells the others so, and takes none.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <vector>

#include "rma/long_window.hpp"

namespace no_memory {
namespace {

using namespace rmq;
using rma::Fault;
using namespace rmq::testing;

Fault trouble(std::vector<std::uint64_t> sizes, bool noncontiguous) {
  Fibers f(Hosts::blocks(4, 1), {});
  rma::WindowOptions o;
  o.id = 7;
  o.flavor = rma::Flavor::shared;
  o.ranks = Ranks::rule(0, 4);
  o.size = sizes[0];
  o.hints.noncontiguous = noncontiguous;
  if (!noncontiguous) o.sizes = std::move(sizes);
  return static_cast<Fault>(rma::Window::prepare(f.domain(0), o)->brought().fact.fault);
}

TEST(RmaNoMemory, IsToldOfSizesThatAreTooLargeOrHaveNoSum) {
  // However much is asked for, no file becomes larger than this.
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit{}, before{};
  getrlimit(RLIMIT_FSIZE, &before);
  limit = before;
  limit.rlim_cur = std::min<rlim_t>(rlim_t{1} << 30, before.rlim_max);
  setrlimit(RLIMIT_FSIZE, &limit);
  constexpr std::uint64_t kQuarter = std::uint64_t{1} << 62, kMost = INT64_MAX, kMuch = std::uint64_t{1} << 50;
  for (const bool noncontiguous : {false, true}) {
    EXPECT_EQ(trouble({8, 8, 8, 8}, noncontiguous), Fault::none);
    EXPECT_EQ(trouble({kQuarter, kQuarter, kQuarter, kQuarter}, noncontiguous), Fault::no_memory);
    EXPECT_EQ(trouble({kMost, kMost, 2, 8}, noncontiguous), Fault::no_memory);
    EXPECT_EQ(trouble({kMuch, 0, 0, 0}, noncontiguous), Fault::no_memory);
  }
  setrlimit(RLIMIT_FSIZE, &before);
}

TEST(RmaNoMemory, IsToldApartFromDescriptors) {
  rlimit limit{}, before{};
  getrlimit(RLIMIT_NOFILE, &before);
  limit = before;
  limit.rlim_cur = 0;
  setrlimit(RLIMIT_NOFILE, &limit);
  rma::HostMemory memory;
  const Fault fault = rma::HostMemory::make(4096, memory);
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_EQ(fault, Fault::descriptors);
  EXPECT_EQ(rma::HostMemory::make(4096, memory), Fault::none);
  memory.let_go();
  memory.data()[4095] = std::byte{1};  // still mapped
}

}  // namespace
}  // namespace no_memory

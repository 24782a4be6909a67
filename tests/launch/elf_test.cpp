// SPDX-License-Identifier: BSD-3-Clause
// What the launcher reads in a program's file.
#include "tools/process/elf.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>

namespace rmq::launch {
namespace {

TEST(Elf, NamesTheLibrariesOfThisProgram) {
  const auto libraries = needed_libraries("/proc/self/exe");
  const auto is_libc = [](const std::string& name) { return name.starts_with("libc.so."); };
  EXPECT_TRUE(std::ranges::any_of(libraries, is_libc));
}

TEST(Elf, HasNothingToSayOfOtherFiles) {
  for (const char* const file : {"/nowhere", "/", "/dev/null", "/proc/self/cmdline"})
    EXPECT_TRUE(needed_libraries(file).empty()) << file;
  // Of a program that is cut off anywhere in its head, or whose head names places that the file does not have.
  std::ifstream self("/proc/self/exe", std::ios::binary);
  std::string head(1024, '\0');
  self.read(head.data(), static_cast<std::streamsize>(head.size()));
  const std::string file = ::testing::TempDir() + "elf_test_head" + std::to_string(::getpid());
  for (std::size_t bytes = 0; bytes <= head.size(); bytes += 16) {
    std::ofstream(file, std::ios::binary) << head.substr(0, bytes);
    EXPECT_TRUE(needed_libraries(file).empty());
  }
  for (std::size_t at = 16; at < head.size(); at += 5) {
    std::string damaged = head;
    damaged[at] = '\xff';
    std::ofstream(file, std::ios::binary) << damaged;
    EXPECT_TRUE(needed_libraries(file).empty());
  }
  std::remove(file.c_str());
}

TEST(Elf, KnowsProgramsOfOpenMpi) {
  EXPECT_EQ(of_open_mpi({"libm.so.6", "libmpi.so.40", "libc.so.6"}), "libmpi.so.40");
  EXPECT_EQ(of_open_mpi({"libmpi_usempif08.so.40"}), "libmpi_usempif08.so.40");
  for (const char* const other :
       {"librmqmpi.so.0", "libmpich.so.12", "libmpi.so.12", "libmpi_abi.so.0", "libmpifort.so.12"})
    EXPECT_EQ(of_open_mpi({other}), "") << other;
}

}  // namespace
}  // namespace rmq::launch

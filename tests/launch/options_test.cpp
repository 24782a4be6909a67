// SPDX-License-Identifier: BSD-3-Clause
// The words of a command line, also those of launchers that people come from.
#include "tools/launch/options.hpp"

#include <gtest/gtest.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tools/launch/option_table.hpp"

namespace rmq::launch {
namespace {

Result<Options> parse(const std::vector<std::string>& words) {
  std::vector<const char*> pointers;
  for (const std::string& word : words) pointers.push_back(word.c_str());
  return parse_options(pointers, {});
}

std::string trouble(const std::vector<std::string>& words) {
  const auto options = parse(words);
  return options ? "" : options.error().what;
}

// MPI-4.1 (11.5), mpiexec of MPICH, mpirun of Open MPI, srun.
TEST(Options, OfOtherLaunchersAreTakenOrRefusedWithARemedy) {
  // clang-format off
  for (const char* name :
       {"n", "host", "arch", "wdir", "path", "file", "soft", "configfile", "initial-errhandler", "memory-alloc-kinds",
        "genv", "genvlist", "genvnone", "genvall", "f", "hosts", "ppn", "prepend-rank", "l", "env", "envlist",
        "launcher", "launcher-exec", "bootstrap", "iface", "bind-to", "map-by", "rmk", "outfile-pattern",
        "errfile-pattern", "verbose", "info", "print-all-exitcodes", "usize", "disable-auto-cleanup", "stdin",
        "np", "c", "x", "H", "hostfile", "machinefile", "pernode", "npernode", "N", "npersocket", "bynode", "byslot",
        "bind-to-core", "report-bindings", "output-filename", "timestamp-output", "tag-output", "merge-stderr-to-stdout",
        "app", "mca", "gmca", "am", "tune", "prefix", "v", "q", "oversubscribe", "nooversubscribe", "rankfile",
        "display-map", "timeout", "preload-binary", "enable-recovery", "nolocal", "xterm", "wd", "allow-run-as-root",
        "ntasks", "ntasks-per-node", "cpus-per-task", "nodes", "nodelist", "label", "output", "input", "error", "chdir",
        "export", "mpi", "time", "partition", "exclusive", "kill-on-bad-exit", "multi-prog", "cpu-bind"}) {
    // clang-format on
    const auto known = known_options();
    const auto found = std::ranges::find(known, std::string_view(name), &KnownOption::name);
    ASSERT_NE(found, known.end()) << name << " is not known";
    EXPECT_TRUE(found->sort != KnownOption::Sort::refused || !found->text.empty())
        << name << " is refused without a remedy";
  }
}

TEST(Options, NoneStandsTwiceInTheTable) {
  std::vector<std::string_view> names;
  for (const KnownOption& one : known_options()) names.push_back(one.name);
  std::ranges::sort(names);
  EXPECT_EQ(std::ranges::adjacent_find(names), names.end());
}

TEST(Options, RefusedOneNamesTheRemedy) {
  EXPECT_NE(trouble({"--output-filename", "out", "prog"}).find("sh -c"), std::string::npos);
  EXPECT_NE(trouble({"--no-such-option", "prog"}).find("unknown option"), std::string::npos);
  EXPECT_EQ(parse({"--mca", "a", "b", "-n", "2", "prog"})->notes.size(), 1u);
  EXPECT_EQ(parse({"-x", "PATH", "prog"})->notes.size(), 0u);
  EXPECT_EQ(parse({"-x", "NO_SUCH_VARIABLE", "prog"})->notes.size(), 1u);
}

TEST(Options, SoftIsTheMostThatItAllows) {
  EXPECT_EQ(parse({"-n", "10", "-soft", "2,4:16:4", "prog"})->size(), 8);
  EXPECT_EQ(parse({"-soft", "1:2000000000", "-n", "5", "prog"})->size(), 5);
  EXPECT_EQ(parse({"-n", "7", "-soft", "2000000000:-2000000000:-3", "prog"})->size(), 5);
  EXPECT_NE(trouble({"-n", "3", "-soft", "4:8", "prog"}).find("allows none"), std::string::npos);
  EXPECT_NE(trouble({"-n", "3", "-soft", "x", "prog"}).find("first:last:step"), std::string::npos);
}

TEST(Options, ArchitectureHasToBeThisOne) {
  utsname machine{};
  ::uname(&machine);
  EXPECT_EQ(trouble({"-arch", machine.machine, "prog"}), "");
  EXPECT_NE(trouble({"-arch", "pdp11", "prog"}), "");
}

TEST(Options, PartsForEachRank) {
  EXPECT_EQ(parse({"-bind-to", "hwthread:2", "prog"})->binding.each, 2);
  EXPECT_EQ(parse({"--bind-to", "core:overload-allowed", "prog"})->binding.each, 1);
  EXPECT_NE(trouble({"-bind-to", "core:0", "prog"}), "");
}

TEST(Options, StandardInputGoesToRankZeroOrToNobody) {
  EXPECT_TRUE(parse({"prog"})->takes_input);
  EXPECT_FALSE(parse({"--stdin", "none", "prog"})->takes_input);
  EXPECT_NE(trouble({"--stdin", "all", "prog"}), "");
}

TEST(Options, FileHasALineForEachProgram) {
  const auto folder = std::filesystem::temp_directory_path();
  const std::string path = (folder / ("options_test." + std::to_string(::getpid()))).string();
  std::ofstream(path) << "# two programs\n-n 2 -env A 'x y' first \"a b\"\n\n  -n 3 second # the rest\n";
  const auto options = parse({"-configfile", path});
  ASSERT_TRUE(options.has_value()) << options.error().what;
  ASSERT_EQ(options->apps.size(), 2u);
  EXPECT_EQ(options->apps[0].command, (std::vector<std::string>{"first", "a b"}));
  EXPECT_EQ(options->apps[0].environment, (Variables{{"A", "x y"}}));
  EXPECT_EQ(options->apps[1].ranks, 3);
  EXPECT_EQ(options->apps[1].command, (std::vector<std::string>{"second"}));
  EXPECT_NE(trouble({"-configfile", path, "-n", "2", "prog"}).find("alone"), std::string::npos);
  std::ofstream(path) << "-n 2 'open\n";
  EXPECT_NE(trouble({"-configfile", path}).find("line 1"), std::string::npos);
  std::ofstream(path) << "# nothing\n";
  EXPECT_NE(trouble({"-configfile", path}).find("no program"), std::string::npos);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace rmq::launch

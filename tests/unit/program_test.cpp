// SPDX-License-Identifier: BSD-3-Clause
// Which files are started without the user having named them.
#include "base/os/program.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace {

namespace fs = std::filesystem;
using rmq::os::is_trusted_program;

constexpr uid_t kSomebody = 65534;

class TrustedProgram : public testing::Test {
 protected:
  TrustedProgram() {
    std::string name = (fs::temp_directory_path() / "program.XXXXXX").string();
    top = fs::canonical(::mkdtemp(name.data()));
    fs::create_directory(top / "bin");
    ::chmod((top / "bin").c_str(), 0755);
    file = top / "bin/rmqrun";
    std::ofstream(file) << "#!/bin/sh\n";
    ::chmod(file.c_str(), 0755);
  }
  ~TrustedProgram() override { fs::remove_all(top); }
  static bool is_trusted(const fs::path& path) { return is_trusted_program(path.string(), ::getuid()); }
  fs::path top, file;
};

TEST_F(TrustedProgram, OwnFileInOwnFolderIs) {
  EXPECT_TRUE(is_trusted(file));
}

TEST_F(TrustedProgram, WhatIsMissingOrNoProgramIsNot) {
  EXPECT_FALSE(is_trusted(top / "bin/other"));
  EXPECT_FALSE(is_trusted(top / "bin"));
  EXPECT_FALSE(is_trusted(""));
  ::chmod(file.c_str(), 0644);
  EXPECT_FALSE(is_trusted(file));
}

TEST_F(TrustedProgram, WhatOthersCanWriteIsNot) {
  for (const mode_t others : {mode_t{0775}, mode_t{0757}}) {
    ::chmod(file.c_str(), others);
    EXPECT_FALSE(is_trusted(file)) << std::oct << others;
    ::chmod(file.c_str(), 0755);
    for (const fs::path& folder : {top / "bin", top}) {
      ::chmod(folder.c_str(), others);
      EXPECT_FALSE(is_trusted(file)) << folder << std::oct << others;
      ::chmod(folder.c_str(), 01777);  // as /tmp: nobody can replace entries of others
      EXPECT_TRUE(is_trusted(file)) << folder;
      ::chmod(folder.c_str(), 0755);
    }
  }
}

TEST_F(TrustedProgram, LinkIsTrustedAsFarAsItsTarget) {
  fs::create_directory(top / "other");
  fs::create_symlink(file, top / "other/rmqrun");
  EXPECT_TRUE(is_trusted(top / "other/rmqrun"));
  ::chmod((top / "bin").c_str(), 0777);
  EXPECT_FALSE(is_trusted(top / "other/rmqrun"));
}

TEST_F(TrustedProgram, WhatSomebodyElseOwnsIsNotButForTheLibrarysOwner) {
  if (::getuid() != 0) GTEST_SKIP() << "only root can give files away";
  for (const fs::path& theirs : {file, top / "bin", top}) {
    ASSERT_EQ(::chown(theirs.c_str(), kSomebody, kSomebody), 0);
    EXPECT_FALSE(is_trusted(file)) << theirs;
    EXPECT_TRUE(is_trusted_program(file.string(), kSomebody)) << theirs;
    ASSERT_EQ(::chown(theirs.c_str(), 0, 0), 0);
  }
}

// The program it leads to is the system's own, and yet somebody else has chosen that it is this one.
TEST_F(TrustedProgram, LinkOfSomebodyElseIsNot) {
  if (::getuid() != 0) GTEST_SKIP() << "only root can give files away";
  fs::remove(file);
  fs::create_symlink("/bin/sh", file);
  EXPECT_TRUE(is_trusted(file));
  ASSERT_EQ(::lchown(file.c_str(), kSomebody, kSomebody), 0);
  EXPECT_FALSE(is_trusted(file));
}

}  // namespace

// SPDX-License-Identifier: BSD-3-Clause
#include "methods/plugin.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "start/bootstrap.hpp"

namespace rmq::methods {
namespace {

class Plugin : public ::testing::Test {
 protected:
  void SetUp() override {
    bootstraps_ = local_bootstraps(1);
    auto bell = Doorbell::open(bootstraps_[0]->job().job, 0);
    ASSERT_TRUE(bell) << bell.error().what;
    bell_ = std::move(*bell);
  }
  Result<std::unique_ptr<Method>> open(std::string_view name, const std::string& path) {
    config_.plugin_path = path;
    return open_plugin(name, MethodContext{config_, *bootstraps_[0], sink_, trace_, *bell_});
  }
  // The error of a plug-in that must be refused.
  std::string refusal(std::string_view name, const std::string& path) {
    const auto method = open(name, path);
    EXPECT_FALSE(method);
    return method ? "" : method.error().what;
  }

  std::vector<std::unique_ptr<Bootstrap>> bootstraps_;
  std::unique_ptr<Doorbell> bell_;
  Config config_;
  Sink sink_;
  Trace trace_;
};

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST_F(Plugin, LoadsAMethodFromTheConfiguredFolder) {
  const auto method = open("good", "/nonexistent::" PLUGIN_FOLDER);
  ASSERT_TRUE(method) << method.error().what;
  EXPECT_EQ((*method)->eager_max(0), 1234u);
}

TEST_F(Plugin, LooksBesideTheProgramWhenNoFolderIsConfigured) {
  const auto method = open("good", "");
  ASSERT_TRUE(method) << method.error().what;
  const std::string own = std::filesystem::canonical("/proc/self/exe").parent_path();
  EXPECT_EQ(std::filesystem::canonical(plugin_folders("").back()), own);
}

TEST_F(Plugin, SearchesFoldersInTheirOrder) {
  const std::vector<std::string> folders = plugin_folders("a:b/c::d:");
  ASSERT_EQ(folders.size(), 4u);
  EXPECT_EQ(folders[0], "a");
  EXPECT_EQ(folders[1], "b/c");
  EXPECT_EQ(folders[2], "d");
}

TEST_F(Plugin, NamesFileFoldersAndRemedyWhenThereIsNoFile) {
  const std::string why = refusal("absent", "/some/where");
  EXPECT_TRUE(has(why, "rmq_method_absent.so")) << why;
  EXPECT_TRUE(has(why, "/some/where")) << why;
  EXPECT_TRUE(has(why, "RMQ_PLUGIN_PATH")) << why;
}

TEST_F(Plugin, NamesTheMissingSymbol) {
  const std::string why = refusal("empty", PLUGIN_FOLDER);
  EXPECT_TRUE(has(why, "rmq_method_empty.so")) << why;
  EXPECT_TRUE(has(why, "rmq_method_contract")) << why;
}

TEST_F(Plugin, RefusesAPluginOfAnotherContract) {
  const std::string why = refusal("stale", PLUGIN_FOLDER);
  EXPECT_TRUE(has(why, "rmq_method_stale.so")) << why;
  EXPECT_TRUE(has(why, "rebuild")) << why;
}

TEST_F(Plugin, HandsOnThePluginsOwnError) {
  EXPECT_EQ(refusal("refusing", PLUGIN_FOLDER), "the fixture refuses, as it should");
}

TEST_F(Plugin, NamesAFileThatIsNoLibrary) {
  const std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) / "rmq_plugin_test";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "rmq_method_text.so") << "this is no library\n";
  const std::string why = refusal("text", folder.string());
  std::filesystem::remove_all(folder);
  EXPECT_TRUE(has(why, "rmq_method_text.so")) << why;
}

TEST_F(Plugin, TakesNoNameThatIsAPath) {
  for (const char* name : {"", "../good", "/tmp/good", "Good", "a b"}) {
    EXPECT_TRUE(has(refusal(name, PLUGIN_FOLDER), "no name of a method")) << name;
  }
}

}  // namespace
}  // namespace rmq::methods

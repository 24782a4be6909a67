// SPDX-License-Identifier: BSD-3-Clause
// Published names, among launchers of one user and strangers who have taken the sockets' names.
#include "tools/launch/names.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "tools/diag/control.hpp"

namespace rmq::launch {
namespace {

constexpr uid_t kSomebody = 65534;

/// Two launchers, whose names are asked one after the other, each from within the answer to the last.
class NamesTest : public testing::Test {
 protected:
  NamesTest() : loop(std::move(*EventLoop::create())), one(*loop), two(*loop) {}

  /// Where this service's name is listened for.
  static std::string address_of(const std::string& service) {
    auto own = std::move(*EventLoop::create());
    Names names(*own);
    const auto before = names_with("rmq/name/");
    std::string address;
    names.publish(service, "p", 0, [&](const Result<void>& done) {
      EXPECT_TRUE(done.has_value());
      for (const std::string& name : names_with("rmq/name/"))
        if (std::ranges::find(before, name) == before.end()) address = name;
      own->stop();
    });
    own->run();
    return address;
  }

  /// Publishes it, looks it up as another launcher, which cannot publish it until it is gone.
  void expect_works(const std::string& service) {
    one.publish(service, "port of one", 0, [&, service](const Result<void>& done) {
      EXPECT_TRUE(done.has_value()) << done.error().what;
      two.look_up(service, [&, service](const Result<std::string>& port) {
        EXPECT_EQ(port.value_or("none"), "port of one");
        two.publish(service, "port of two", 0, [&, service](const Result<void>& again) {
          EXPECT_FALSE(again.has_value());
          EXPECT_TRUE(one.unpublish(service).has_value());
          two.look_up(service, [&](const Result<std::string>& gone) {
            EXPECT_FALSE(gone.has_value());
            loop->stop();
          });
        });
      });
    });
    loop->run();
  }

  std::unique_ptr<EventLoop> loop;
  Names one, two;
};

/// Another user's process that listens at an abstract name, and never accepts; `full`: nobody can call any more.
class Squatter {
 public:
  Squatter(const std::string& name, bool full) {
    auto ready = std::move(*Pipe::create());
    pid_ = ::fork();
    if (pid_ == 0) {
      if (::setresuid(kSomebody, kSomebody, kSomebody) != 0) ::_exit(1);
      squat(name, full);
      static_cast<void>(::write(ready.writer.get(), "!", 1));
      for (;;) ::pause();
    }
    ready.writer.reset();
    std::string word;
    EXPECT_TRUE(read_some(ready.reader.get(), word, 1));
  }
  ~Squatter() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Squatter(const Squatter&) = delete;
  Squatter& operator=(const Squatter&) = delete;

 private:
  static void squat(const std::string& name, bool full) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    name.copy(address.sun_path + 1, name.size());
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    const auto* const at = reinterpret_cast<const sockaddr*>(&address);
    const int listener = ::socket(AF_UNIX, SOCK_STREAM, 0);
    if (::bind(listener, at, length) != 0 || ::listen(listener, 0) != 0) ::_exit(1);
    while (full && ::connect(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0), at, length) == 0) continue;
  }
  pid_t pid_;
};

TEST_F(NamesTest, IsPublishedOnceFoundAndGone) {
  expect_works("names_test ocean");
  two.look_up("names_test nothing", [](const Result<std::string>& port) { EXPECT_FALSE(port.has_value()); });
}

TEST_F(NamesTest, StrangerWhoHasTheNameTakesNothingOver) {
  if (::getuid() != 0) GTEST_SKIP() << "missing here: only root can run as somebody else";
  const std::string address = address_of("names_test squatted");
  ASSERT_NE(address, "");
  const Squatter squatter(address, false);
  expect_works("names_test squatted");
}

TEST_F(NamesTest, StrangerWhoLetsNobodyInHoldsNobodyUp) {
  if (::getuid() != 0) GTEST_SKIP() << "missing here: only root can run as somebody else";
  const std::string address = address_of("names_test full");
  ASSERT_NE(address, "");
  const Squatter squatter(address, true);
  // The loop goes on while the search is under way.
  int turns = 0;
  const std::function<void()> tick = [&] {
    ++turns;
    loop->after(std::chrono::milliseconds(1), tick);
  };
  tick();
  expect_works("names_test full");
  EXPECT_GT(turns, 10);
}

// What rmqps lists, whoever has taken names that look like this user's jobs.
TEST_F(NamesTest, StrangersHideNoJobAndAreNone) {
  if (::getuid() != 0) GTEST_SKIP() << "missing here: only root can run as somebody else";
  const auto control = Control::open(*loop, "7777777777777777", [](const auto&) {});
  ASSERT_NE(control, nullptr);
  const Squatter before("rmq-job/0/0000000000000000", true), open("rmq-job/0/0000000000000001", false),
      behind("rmq-job/0/ffffffffffffffff", true);
  std::vector<std::string> jobs;
  for (const Running& job : list_jobs()) jobs.push_back(job.job);
  EXPECT_EQ(std::ranges::count(jobs, "7777777777777777"), 1);
  for (const char* name : {"0000000000000000", "0000000000000001", "ffffffffffffffff"})
    EXPECT_EQ(std::ranges::count(jobs, name), 0) << name;
  EXPECT_FALSE(ask_job("0000000000000000").has_value());
  EXPECT_FALSE(ask_job("0000000000000001").has_value());
}

}  // namespace
}  // namespace rmq::launch

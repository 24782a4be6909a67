// SPDX-License-Identifier: BSD-3-Clause
// The bootstrap of a program that nobody has launched.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "start/bootstrap_local.hpp"
#include "start/bootstrap_server.hpp"

namespace rmq::boot {

// Without a launcher, until it wants something of one.
class SingletonBootstrap final : public LocalBootstrap {
 public:
  SingletonBootstrap();

  Result<std::optional<std::string>> hear(std::string_view answer) override {
    return launcher_ ? launcher_->hear(answer) : LocalBootstrap::hear(answer);
  }
  void abandon(std::string_view answer) override {
    if (launcher_) launcher_->abandon(answer);
  }
  std::uint64_t answers() const override { return launcher_ ? launcher_->answers() : 0; }
  Result<void> wish(std::string_view what, std::string_view text) override;
  bool has_launcher() const override { return launcher_ != nullptr; }
  int launcher_fd() const override { return watch_fd(); }
  int watch_fd() const override { return launcher_ ? launcher_->watch_fd() : -1; }
  void on_watch() override {
    if (launcher_) launcher_->on_watch();
  }
  Result<void> finalize() override {
    if (launcher_) static_cast<void>(launcher_->finalize());
    return LocalBootstrap::finalize();
  }
  void abort(int code, std::string_view why, Blame blame) override;

 private:
  std::unique_ptr<ServerBootstrap> launcher_;
};

}  // namespace rmq::boot

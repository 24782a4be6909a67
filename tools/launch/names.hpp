// Names of services, as MPI_Publish_name gives them to ports: kept by the launcher whose job publishes, for as long as
// it runs, for all jobs of the same user on this host. Each name is a socket in the abstract namespace, whose owner
// tells the port to whoever connects and is the same user: nothing is left behind, whoever is killed when.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "tools/process/fd.hpp"
#include "tools/process/loop.hpp"

namespace rmq::launch {

class Names {
 public:
  explicit Names(EventLoop& loop) : loop_(loop) {}
  Names(const Names&) = delete;
  Names& operator=(const Names&) = delete;

  /// `owner`: a job, whose names go with it. Errc::argument: somebody has published it already.
  Result<void> publish(const std::string& service, const std::string& port, int owner);
  /// Errc::argument: no job of this launcher has published it.
  Result<void> unpublish(const std::string& service);
  void forget(int owner);
  /// Of any launcher here. Errc::argument: nobody has published it.
  Result<std::string> look_up(const std::string& service) const;

 private:
  struct Name {
    UniqueFd listener;
    std::string port;
    int owner;
  };
  void answer(const std::string& service);

  EventLoop& loop_;
  std::map<std::string, Name> names_;
};

}  // namespace rmq::launch

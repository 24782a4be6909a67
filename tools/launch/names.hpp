// SPDX-License-Identifier: BSD-3-Clause
// Names of services, as MPI_Publish_name gives them to ports: kept by the launcher whose job publishes, for as long as
// it runs, for all jobs of the same user on this host. Each name is a socket in the abstract namespace, whose owner
// tells the port to whoever connects and is the same user: nothing is left behind, whoever is killed when.
//
// Anybody may have taken the socket's name before. The owner then adds random letters to it; who looks a name up
// calls all sockets whose name begins so, and listens to those of its own user.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "tools/process/acceptor.hpp"
#include "tools/process/fd.hpp"
#include "tools/process/loop.hpp"

namespace rmq::launch {

class Names {
 public:
  using Published = std::function<void(Result<void> done)>;
  using Found = std::function<void(Result<std::string> port)>;

  explicit Names(EventLoop& loop) : loop_(loop), timers_(loop) {}
  ~Names();
  Names(const Names&) = delete;
  Names& operator=(const Names&) = delete;

  /// `owner`: a job, whose names go with it. `published` is called once, now or from the event loop, within 2 s.
  /// Errc::argument: somebody of this user has published it already.
  void publish(const std::string& service, const std::string& port, int owner, Published published);
  /// Errc::argument: no job of this launcher has published it.
  Result<void> unpublish(const std::string& service);
  void forget(int owner) {
    std::erase_if(names_, [&](const auto& entry) { return entry.second.owner == owner; });
  }
  /// Of any launcher here. `found` is called once, now or from the event loop, within 1 s. Errc::argument: nobody has
  /// published it.
  void look_up(const std::string& service, Found found);

 private:
  struct Name {
    std::unique_ptr<Acceptor> acceptor;
    std::string port;
    int owner;
  };
  struct Candidate {  // a socket whose name fits
    std::string address;
    UniqueFd socket;  // once it has been reached
    std::string port;
  };
  struct Search {
    std::list<Candidate> candidates;
    std::function<void(std::optional<std::string> port)> done;
  };
  using SearchId = std::uint64_t;

  void search(const std::string& service, std::function<void(std::optional<std::string> port)> done);
  void call_all(SearchId id);
  void hear(SearchId id, std::list<Candidate>::iterator candidate);
  void conclude(SearchId id, std::optional<std::string> port);
  void settle(const std::string& service, const std::string& port, int owner, bool name_is_taken,
              const Published& published);

  EventLoop& loop_;
  Timers timers_;
  std::map<std::string, Name> names_;
  std::map<SearchId, Search> searches_;  // that have not been concluded
  SearchId next_search_ = 0;
};

}  // namespace rmq::launch

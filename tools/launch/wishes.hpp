// What ranks ask of the launcher beyond their job: processes, and names for ports. JSON, both ways; the answer goes on
// the board of the job under the key "answer" of the wish.
//
//   spawn      {programs, port}      -> {job, processes}
//   publish    {service, port}       -> {}
//   unpublish  {service}             -> {}
//   lookup     {service}             -> {port}
//   signal     {job, signal}         -> {}
//   await      {job}                 -> {codes}, when all its processes have ended
//   bond, part  a job                   nothing: that job and this one have connected, or parted
//
// An answer {error} says why not.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/launch/names.hpp"

namespace rmq::launch {

class Keeper;
class Server;
struct JobPlan;

/// The job whose rank wants something: its number at the keeper, what it was made of, and the board for the answer.
struct Asker {
  int number;
  const JobPlan& plan;
  Server& server;
};

class Wishes {
 public:
  Wishes(Keeper& keeper, EventLoop& loop) : keeper_(keeper), names_(loop) {}

  /// False: nobody knows such a wish.
  bool fulfil(const Asker& job, int rank, std::string_view what, std::string_view text);
  /// The job has finished: its names go, and who awaits it hears.
  void on_finished(int number, const std::string& job, const std::vector<int>& codes);

 private:
  Keeper& keeper_;
  Names names_;
  struct Waiting {
    int asker;
    std::string job, key;
  };
  std::vector<Waiting> waiting_;
  std::map<std::string, std::pair<int, std::vector<int>>> ended_;  // number and codes of jobs that nobody has asked about yet
  std::set<std::pair<int, int>> spawned_;          // which are connected from the start, and have yet to say so
};

}  // namespace rmq::launch

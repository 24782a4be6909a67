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
  /// A rank of a job that goes on has died: what it has spawned and is not connected with yet has nobody to come to.
  void on_death(int number, int rank);

 private:
  Keeper& keeper_;
  Names names_;
  struct Waiting {
    int asker;
    std::string job, key;
  };
  std::vector<Waiting> waiting_;
  std::map<std::string, std::pair<int, std::vector<int>>>
      ended_;  // number and codes of jobs that nobody has asked about yet
  // Jobs that are connected from the start, and have yet to say so: parent and child, and the rank that has asked.
  std::map<std::pair<int, int>, int> spawned_;
};

}  // namespace rmq::launch

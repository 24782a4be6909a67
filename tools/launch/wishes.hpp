// SPDX-License-Identifier: BSD-3-Clause
// What ranks ask of the launcher beyond their job: processes, and names for ports. JSON, both ways; the answer goes to
// the rank that asks, under the key "answer" of the wish, and nothing of it is kept here.
//
//   spawn      {programs, port,      -> {job, processes}, once all have been started; without a port it is not to
//               near}                   connect. {far}: nothing has been started, as the port is for callers on the
//                                       asking rank's machine (near) and not all would be there
//   ended      {job}                 -> {error}: a job with a port has ended before it has connected; {}: it has
//   publish    {service, port}       -> {}
//   unpublish  {service}             -> {}
//   lookup     {service}             -> {port}
//   signal     {job, signal}         -> {}
//   await      {job}                 -> {codes}, when all its processes have ended; once
//   event      {job, number}         -> {rank, code}: the process that has ended as the so many-th; {over} behind the
//                                       last
//   bond       {job, tie}            -> {}: that job and this one have connected, under this name
//   part       a name                nothing: they have parted
//   adrift     a name                nothing: they have parted, as not all of both know that they had connected
//
// Text of programs is as base/record/byte_text.hpp has it. An answer {error} says why not.
#pragma once

#include <deque>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/launch/names.hpp"

namespace rmq::launch {

class Keeper;
class Server;
struct JobPlan;

/// The job whose rank wants something: its number at the keeper, what it was made of, and who passes on the answer.
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
  /// All of a job's processes have been started, where that took a while.
  void on_started(const std::string& job);
  /// They never will be. False: nobody is there to be told why.
  bool on_cannot_start(const std::string& job, const std::string& why);
  /// A process of a job has ended.
  void on_rank_end(const std::string& job, int rank, int code);
  /// The job has finished: its names go, and who awaits it hears.
  void on_finished(int number, const std::string& job, const std::vector<int>& codes);
  /// A rank of a job that goes on has died: what it has spawned and is not connected with yet has nobody to come to.
  void on_death(int number, int rank);

 private:
  /// What is known of a job that another one has started.
  struct Story {
    int number;             // of the job
    int parent;             // of the job that has started it
    int asker = 0;          // the rank there that wanted it
    bool connects = false;  // with its parent
    std::string answer;     // the key under which the asker hears that it has been started; empty once it has
    bool refused = false;   // it could not be started, as the asker knows
    bool unmet = false;     // it is over, and has not connected as it should have
    bool over = false;
    std::vector<std::pair<int, int>> ended;  // rank and code, in the order of their ends
    std::vector<int> codes;                  // once it is over
  };
  struct Waiting {
    int asker, rank;
    std::string job, key;
    std::size_t event;  // kCodes: for all codes; kMeeting: for whether it connects
  };
  static constexpr std::size_t kCodes = ~std::size_t{0}, kMeeting = kCodes - 1;
  /// Codes of so many jobs that were to connect, and about which nobody has asked, are kept.
  static constexpr std::size_t kMostStories = 1024;

  bool answer(const Asker& job, int rank, std::string_view what, const nlohmann::json& wish);
  void answer_later(int number, int rank, const std::string& key, const nlohmann::json& answer);
  /// Nothing: it is told later.
  std::optional<nlohmann::json> spawn(const Asker& job, int rank, const nlohmann::json& wish);
  nlohmann::json signal(const nlohmann::json& wish);
  bool tell(const Waiting& wants);
  void tell_all(const std::string& job);
  void forget_oldest();

  Keeper& keeper_;
  Names names_;
  std::vector<Waiting> waiting_;
  std::map<std::string, Story> stories_;  // by the job's id, until its codes have been told, or there is nobody to ask
  std::deque<std::string> over_;          // ids of those that have connected and ended, the oldest first
};

}  // namespace rmq::launch

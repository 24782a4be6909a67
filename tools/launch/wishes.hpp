// What ranks ask of the launcher beyond their job: processes, and names for ports. JSON, both ways; the answer goes on
// the board of the job under the key "answer" of the wish.
//
//   spawn      {programs, port}      -> {job, processes}; without a port it is not to connect. With one the board of
//   the
//                                       job that asks says under "ended.JOB" why it will not, if it ends before
//   publish    {service, port}       -> {}
//   unpublish  {service}             -> {}
//   lookup     {service}             -> {port}
//   signal     {job, signal}         -> {}
//   await      {job}                 -> {codes}, when all its processes have ended; once
//   event      {job, number}         -> {rank, code}: the process that has ended as the so many-th; {over} behind the
//   last bond       {job, tie}            -> {}: that job and this one have connected, under this name part       a
//   name                nothing: they have parted
//
// Text of programs is as base/byte_text.hpp has it. An answer {error} says why not.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
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
    bool over = false;
    std::vector<std::pair<int, int>> ended;  // rank and code, in the order of their ends
    std::vector<int> codes;                  // once it is over
  };
  struct Waiting {
    int asker;
    std::string job, key;
    std::size_t event;  // kCodes: for all codes
  };
  static constexpr std::size_t kCodes = ~std::size_t{0};

  bool answer(const Asker& job, int rank, std::string_view what, const nlohmann::json& wish);
  nlohmann::json spawn(const Asker& job, int rank, const nlohmann::json& wish);
  nlohmann::json signal(const nlohmann::json& wish);
  bool tell(const Waiting& wants);
  void tell_all(const std::string& job);

  Keeper& keeper_;
  Names names_;
  std::vector<Waiting> waiting_;
  std::map<std::string, Story> stories_;  // by the job's id, until its codes have been told, or there is nobody to ask
};

}  // namespace rmq::launch

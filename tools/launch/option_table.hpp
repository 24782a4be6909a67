// All options that rmqrun knows: its own, and those of the launchers that people come from. What means the same here is
// done, what changes nothing is taken, and what cannot be done is refused with what does it instead: nobody's script
// fails with "unknown option".
#pragma once

#include <span>
#include <string_view>

namespace rmq::launch {

// What an option does. Options of one meaning share a verb.
enum class Verb {
  ranks,
  split,
  method,
  export_one,
  env,
  genv,
  tag,
  timeout,
  trace,
  trace_max,
  coll,
  process_set,
  bind,
  folder,
  path,
  arch,
  soft,
  config_file,
  universe,
  hang_after,
  hang_abort,
  pmi,
  ft,
  help,
  version,
  per_host,
  placing,
  hosts,
  hostfile,
  launcher,
  fan_out,
  host_timeout,
  report_bindings,
  interface,
  input,
  ignore,   // it is so in any case
  foreign,  // means nothing here, and the user is told
  refused,  // means something that is not here
};

struct KnownOption {
  std::string_view name;  // without dashes
  int values;             // arguments that follow, 2 at most
  Verb verb;
  /// Of one without arguments: the value that it stands for. Of foreign and refused ones: why, and what to use instead.
  std::string_view text = {};
};

std::span<const KnownOption> known_options();

}  // namespace rmq::launch

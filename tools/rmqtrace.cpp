// rmqtrace: shows what a job's ranks recorded.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>

#include "tools/trace_chart.hpp"
#include "tools/trace_file.hpp"
#include "tools/trace_stats.hpp"
#include "tools/trace_text.hpp"

int main(int argc, char** argv) {
  CLI::App app{"Shows the protocol of a job, packet by packet. Record one with: rmqrun --trace DIR -n 2 ./program"};
  app.set_version_flag("--version", "rmqtrace " RMQ_VERSION);
  app.require_subcommand(1);

  std::string folder;
  rmq::trace::Filter filter;
  std::size_t limit = 0;
  CLI::App* text = app.add_subcommand("text", "one line an event, all ranks on one clock");
  text->add_option("DIR", folder, "folder that was given to --trace")->required();
  text->add_option("--rank", filter.rank, "only events of this rank");
  text->add_option("--peer", filter.peer, "only events that concern this other rank");
  text->add_option("--tag", filter.tag, "only packets with this tag");
  text->add_option("--kind", filter.kind, "only this packet kind (SHORT, REQUEST_SEND, …) or event (posted, sleep, …)");
  text->add_option("--from", filter.from_us, "only from this time on, microseconds since the first event");
  text->add_option("--to", filter.to_us, "only up to this time");
  text->add_option("--limit", limit, "stop after so many lines");
  CLI::App* stats = app.add_subcommand("stats", "packets by kind and method, matching, waiting, rendezvous times");
  stats->add_option("DIR", folder, "folder that was given to --trace")->required();
  CLI::App* chart =
      app.add_subcommand("chart", "a page for the browser: a lane for each rank, an arrow for each packet");
  std::string page = "rmqtrace.html";
  chart->add_option("DIR", folder, "folder that was given to --trace")->required();
  chart->add_option("-o,--output", page, "the HTML file to write");
  CLI11_PARSE(app, argc, argv);

  const auto trace = rmq::trace::read(folder);
  if (!trace) {
    fmt::print(stderr, "rmqtrace: {}\n", trace.error().what);
    return 1;
  }
  for (const auto& r : trace->ranks) {
    if (r.dropped)
      fmt::print(stderr, "rmqtrace: {} events at the end of rank {} could not be written\n", r.dropped, r.rank);
  }
  if (stats->parsed()) {
    fmt::print("{}", rmq::trace::stats(*trace));
    return 0;
  }
  if (chart->parsed()) {
    std::ofstream out(page, std::ios::binary);
    out << rmq::trace::chart(*trace);
    out.close();
    if (!out) return fmt::print(stderr, "rmqtrace: cannot write {}\n", page), 1;
    return 0;
  }
  std::size_t shown = 0;
  for (const auto& e : trace->entries) {
    if (!filter.shows(e)) continue;
    if (std::puts(rmq::trace::line_of(e).c_str()) == EOF) return 1;
    if (limit && ++shown == limit) break;
  }
  return 0;
}

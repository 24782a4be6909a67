// rmqtrace: shows what a job's ranks recorded.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>

#include "tools/trace/chart.hpp"
#include "tools/trace/check.hpp"
#include "tools/trace/file.hpp"
#include "tools/trace/lua.hpp"
#ifdef RMQ_OTF2
#include "tools/trace/otf2.hpp"
#endif
#include "tools/trace/pcap.hpp"
#include "tools/trace/perfetto.hpp"
#include "tools/trace/stats.hpp"
#include "tools/trace/text.hpp"

namespace {

using rmq::trace::Trace;

// 0: no violation; 1: there is one; 2: the trace is not whole.
int report_check(const Trace& trace) {
  if (const std::string why = rmq::trace::why_not_checkable(trace); !why.empty()) {
    fmt::print(stderr, "rmqtrace: cannot check this trace: {}\n", why);
    return 2;
  }
  if (const auto violation = rmq::trace::check(trace)) {
    fmt::print("{}", rmq::trace::describe(trace, *violation));
    return 1;
  }
  fmt::print("{} events of {} ranks: no violation of the protocol\n", trace.entries.size(), trace.ranks.size());
  return 0;
}

int print_lines(const Trace& trace, const rmq::trace::Filter& filter, std::size_t limit) {
  std::size_t shown = 0;
  for (const auto& e : trace.entries) {
    if (!filter.shows(e)) continue;
    if (std::puts(rmq::trace::line_of(e).c_str()) == EOF) return 1;
    if (limit && ++shown == limit) break;
  }
  return 0;
}

int write_file(const std::string& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  if (!out) return fmt::print(stderr, "rmqtrace: cannot write {}\n", path), 1;
  return 0;
}

#ifdef RMQ_OTF2
int write_otf2(const Trace& trace, const std::string& folder) {
  const auto done = rmq::trace::otf2(trace, folder);
  if (!done) fmt::print(stderr, "rmqtrace: {}\n", done.error().what);
  return done ? 0 : 1;
}
#endif

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Shows the protocol of a job, packet by packet. Record one with: rmqrun --trace DIR -n 2 ./program"};
  app.set_version_flag("--version", "rmqtrace " RMQ_VERSION);
  app.require_subcommand(1);

  std::string folder, output;
  const auto command = [&](const char* name, const char* what) {
    CLI::App* c = app.add_subcommand(name, what);
    c->add_option("DIR", folder, "folder that was given to --trace")->required();
    return c;
  };
  const auto writer = [&](const char* name, const char* what, const char* into) {
    CLI::App* c = command(name, what);
    c->add_option("-o,--output", output, into);
    return c;
  };
  rmq::trace::Filter filter;
  std::size_t limit = 0;
  CLI::App* text = command("text", "one line an event, all ranks on one clock");
  text->add_option("--rank", filter.rank, "only events of this rank");
  text->add_option("--peer", filter.peer, "only events that concern this other rank");
  text->add_option("--tag", filter.tag, "only packets with this tag");
  text->add_option("--kind", filter.kind, "only this packet kind (SHORT, REQUEST_SEND, …) or event (posted, sleep, …)");
  text->add_option("--from", filter.from_us, "only from this time on, microseconds since the first event");
  text->add_option("--to", filter.to_us, "only up to this time");
  text->add_option("--limit", limit, "stop after so many lines");
  CLI::App* stats = command("stats", "packets by kind and method, matching, waiting, rendezvous times");
  CLI::App* check = command("check", "holds the trace against the protocol and names the first violation");
  CLI::App* chart =
      writer("chart", "a page for the browser: a lane for each rank, an arrow for each packet", "the HTML file");
  CLI::App* pcap =
      writer("pcap", "a capture for Wireshark and tshark, to be read with the dissector of lua", "the pcapng file");
  CLI::App* lua = app.add_subcommand("lua", "prints the dissector for Wireshark and tshark (-X lua_script:FILE)");
  CLI::App* perfetto = writer("perfetto", "a trace for ui.perfetto.dev", "the file");
#ifdef RMQ_OTF2
  CLI::App* otf2 = writer("otf2", "an OTF2 archive", "the folder to make");
#endif
  CLI11_PARSE(app, argc, argv);

  if (lua->parsed()) return std::fputs(rmq::trace::lua_dissector().c_str(), stdout) == EOF ? 1 : 0;
  const auto trace = rmq::trace::read(folder);
  if (!trace) {
    fmt::print(stderr, "rmqtrace: {}\n", trace.error().what);
    return 1;
  }
  for (const auto& r : trace->ranks) {
    if (r.dropped)
      fmt::print(stderr, "rmqtrace: {} events at the end of rank {} could not be written\n", r.dropped, r.rank);
  }
  const auto path = [&](const char* otherwise) { return output.empty() ? std::string(otherwise) : output; };
  if (check->parsed()) return report_check(*trace);
  if (chart->parsed()) return write_file(path("rmqtrace.html"), rmq::trace::chart(*trace));
  if (pcap->parsed()) return write_file(path("rmqtrace.pcapng"), rmq::trace::pcap(*trace));
  if (perfetto->parsed()) return write_file(path("rmqtrace.perfetto"), rmq::trace::perfetto(*trace));
#ifdef RMQ_OTF2
  if (otf2->parsed()) return write_otf2(*trace, path("rmqtrace.otf2"));
#endif
  if (stats->parsed()) return fmt::print("{}", rmq::trace::stats(*trace)), 0;
  return print_lines(*trace, filter, limit);
}

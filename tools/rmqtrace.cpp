// SPDX-License-Identifier: BSD-3-Clause
// rmqtrace: shows what a job's ranks recorded.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>

#include "tools/trace/chart.hpp"
#include "tools/trace/check.hpp"
#include "tools/trace/lua.hpp"
#ifdef RMQ_OTF2
#include "tools/trace/otf2.hpp"
#endif
#include "tools/trace/output.hpp"
#include "tools/trace/pcap.hpp"
#include "tools/trace/perfetto.hpp"
#include "tools/trace/reader.hpp"
#include "tools/trace/stats.hpp"
#include "tools/trace/text.hpp"

namespace {

using rmq::Result;
using rmq::trace::Entry;
using rmq::trace::Output;
using rmq::trace::Reader;
using rmq::trace::Slice;

struct Wishes {
  std::string folder, output;
  Slice slice;
  rmq::trace::Filter filter;
  std::size_t limit = 0;
};

int failed(const rmq::Error& e, int code = 1) {
  fmt::print(stderr, "rmqtrace: {}\n", e.what);
  return code;
}

// The last line of a terminal says how far a long trace has been read.
void show_progress(Reader& reader) {
  if (!::isatty(STDERR_FILENO)) return;
  using Clock = std::chrono::steady_clock;
  reader.progress = [start = Clock::now(), shown = Clock::time_point{}](double part, std::uint64_t bytes) mutable {
    const auto now = Clock::now();
    if (now - start < std::chrono::seconds(1) || now - shown < std::chrono::milliseconds(200)) return;
    shown = now;
    const double seconds = std::chrono::duration<double>(now - start).count();
    fmt::print(stderr, "\r\033[Krmqtrace: {:.0f} %, {:.0f} MB/s", part * 100,
               static_cast<double>(bytes) / 1e6 / seconds);
  };
}

Result<std::uint64_t> each(Reader& reader, const Slice& slice, const std::function<bool(const Entry&)>& look) {
  auto shown = reader.each(slice, look);
  if (reader.progress && ::isatty(STDERR_FILENO)) fmt::print(stderr, "\r\033[K");
  return shown;
}

// What check returns: of a trace that cannot be read, or is not whole, nothing good is known.
enum Verdict { kNoViolation = 0, kViolation = 1, kNone = 2 };

int check(Reader& reader, const Wishes&) {
  if (const std::string why = rmq::trace::why_not_checkable(reader.ranks()); !why.empty()) {
    fmt::print(stderr, "rmqtrace: cannot check this trace: {}\n", why);
    return kNone;
  }
  rmq::trace::Check check(reader.ranks());
  std::optional<rmq::trace::Violation> violation;
  const auto shown = each(reader, {}, [&](const Entry& e) { return !(violation = check.look(e)); });
  if (violation) {
    fmt::print("{}", rmq::trace::describe(*violation));
    return kViolation;
  }
  if (!shown) return failed(shown.error(), kNone);
  if (const std::string why = rmq::trace::why_not_whole(reader.ranks()); !why.empty()) {
    fmt::print("{} events of {} ranks: no violation of the protocol so far, and no verdict: {}\n", *shown,
               reader.ranks().size(), why);
    return kNone;
  }
  fmt::print("{} events of {} ranks: no violation of the protocol\n", *shown, reader.ranks().size());
  return kNoViolation;
}

int text(Reader& reader, const Wishes& w) {
  Output out = Output::standard();
  std::size_t lines = 0;
  rmq::trace::OtherJobs others;
  const auto shown = each(reader, w.slice, [&](const Entry& e) {
    others.note(e);
    if (!w.filter.shows(e)) return true;
    rmq::trace::append_line(out.text(), e, others);
    out.text() += '\n';
    return out.written() && (w.limit == 0 || ++lines < w.limit);
  });
  if (const auto ended = out.end(); !ended) return failed(ended.error());
  return shown ? 0 : failed(shown.error());
}

int stats(Reader& reader, const Wishes& w) {
  rmq::trace::Stats stats;
  const auto shown = each(reader, w.slice, [&](const Entry& e) {
    stats.add(e);
    return true;
  });
  if (!shown) return failed(shown.error());
  fmt::print("{}", stats.text(reader));
  return 0;
}

// A command that writes a file, event by event.
template <class Writer>
int write(Reader& reader, const Wishes& w, const char* otherwise) {
  auto out = Output::file(w.output.empty() ? otherwise : w.output);
  if (!out) return failed(out.error());
  Writer writer(reader, *out);
  const auto shown = each(reader, w.slice, [&](const Entry& e) { return writer.look(e); });
  if (const auto ended = out->end(); !ended) return failed(ended.error());
  return shown ? 0 : failed(shown.error());
}

int pcap(Reader& reader, const Wishes& w) {
  return write<rmq::trace::Pcap>(reader, w, "rmqtrace.pcapng");
}

int perfetto(Reader& reader, const Wishes& w) {
  return write<rmq::trace::Perfetto>(reader, w, "rmqtrace.perfetto");
}

int chart(Reader& reader, const Wishes& w) {
  auto out = Output::file(w.output.empty() ? "rmqtrace.html" : w.output);
  if (!out) return failed(out.error());
  rmq::trace::Chart chart(reader, fmt::format("rmqtrace chart {}", w.folder));
  const auto shown = each(reader, w.slice, [&](const Entry& e) {
    chart.add(e);
    return true;
  });
  if (!shown) return failed(shown.error());
  out->write(chart.page());
  const auto ended = out->end();
  return ended ? 0 : failed(ended.error());
}

#ifdef RMQ_OTF2
int otf2(Reader& reader, const Wishes& w) {
  const auto done = rmq::trace::otf2(reader, w.slice, w.output.empty() ? "rmqtrace.otf2" : w.output);
  return done ? 0 : failed(done.error());
}
#endif

int run(int (*command)(Reader&, const Wishes&), const Wishes& w) {
  auto reader = Reader::open(w.folder);
  if (!reader) return failed(reader.error(), command == check ? kNone : 1);
  for (const std::string& line : caveats(*reader)) fmt::print(stderr, "rmqtrace: {}\n", line);
  show_progress(*reader);
  return command(*reader, w);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Shows the protocol of a job, packet by packet. Record one with: rmqrun --trace DIR -n 2 ./program"};
  app.set_version_flag("--version", "rmqtrace " RMQ_VERSION);
  app.require_subcommand(1);

  Wishes w;
  int code = 0;
  const auto command = [&](const char* name, const char* what, int (*does)(Reader&, const Wishes&)) {
    CLI::App* c = app.add_subcommand(name, what);
    c->add_option("DIR", w.folder, "folder that was given to --trace")->required();
    c->callback([&, does] { code = run(does, w); });
    return c;
  };
  const auto sliced = [&](CLI::App* c) {
    c->add_option("--rank", w.slice.rank, "only events of this rank");
    c->add_option("--from", w.slice.from_us, "only from this time on, microseconds since the first event");
    c->add_option("--to", w.slice.to_us, "only up to this time; no more than that is read");
    return c;
  };
  const auto writer = [&](CLI::App* c, const char* into) { sliced(c)->add_option("-o,--output", w.output, into); };
  CLI::App* lines = sliced(command("text", "one line an event, all ranks on one clock", text));
  lines->add_option("--peer", w.filter.peer, "only events that concern this other rank");
  lines->add_option("--tag", w.filter.tag, "only packets with this tag");
  lines->add_option("--kind", w.filter.kind,
                    "only this packet kind (SHORT, REQUEST_SEND, …) or event (posted, sleep, …)");
  lines->add_option("--limit", w.limit, "stop after so many lines");
  sliced(
      command("stats", "packets by kind and method, matching, waiting, times in MPI and who waited for whom", stats));
  command("check",
          "holds the trace against the protocol and names the first violation: 0 there is none, 1 there is one, 2 no "
          "verdict, as the trace cannot be read or is not whole",
          check);
  writer(command("chart", "a page for the browser: a lane for each rank, an arrow for each packet", chart),
         "the HTML file");
  writer(command("pcap", "a capture for Wireshark and tshark, to be read with the dissector of lua", pcap),
         "the pcapng file");
  app.add_subcommand("lua", "prints the dissector for Wireshark and tshark (-X lua_script:FILE)")->callback([&] {
    code = std::fputs(rmq::trace::lua_dissector().c_str(), stdout) == EOF ? 1 : 0;
  });
  writer(command("perfetto", "a trace for ui.perfetto.dev", perfetto), "the file");
#ifdef RMQ_OTF2
  writer(command("otf2", "an OTF2 archive", otf2), "the folder to make");
#endif
  CLI11_PARSE(app, argc, argv);
  return code;
}

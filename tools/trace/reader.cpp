// SPDX-License-Identifier: BSD-3-Clause
#include "tools/trace/reader.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <limits>

#include "tools/trace/merge.hpp"

namespace rmq::trace {
namespace {

constexpr int kMostRanks = 1 << 20;
// A slice begins so much earlier in the files, ns: the packets that are on their way at its start have mostly left
// since.
constexpr std::int64_t kBefore = 50'000'000;
constexpr std::uint64_t kProgressBytes = 8 << 20;

// A file is open for each rank, and the usual limit is 1,024.
void allow_many_files() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  static_cast<void>(::setrlimit(RLIMIT_NOFILE, &limit));
}

Result<void> check_ranks(const std::vector<TraceFile>& files) {
  const TraceHeader* before = nullptr;
  for (const TraceFile& f : files) {
    const TraceHeader& h = f.header();
    if (h.rank < 0 || h.rank >= h.size || h.size > kMostRanks)
      return fail(Errc::argument, fmt::format("{} says that it is rank {} of {}", f.path(), h.rank, h.size));
    if (!plausible_clocks(h)) return fail(Errc::argument, fmt::format("{} has clocks that make no sense", f.path()));
    if (before &&
        (before->rank == h.rank || before->size != h.size || std::memcmp(before->job, h.job, sizeof h.job) != 0))
      return fail(Errc::argument,
                  fmt::format("{} is of another job than the files beside it; remove those of one", f.path()));
    before = &h;
  }
  return {};
}

}  // namespace

Result<Reader> Reader::open(const std::string& folder) {
  allow_many_files();
  std::vector<TraceFile> files;
  std::error_code ec;
  for (const auto& file : std::filesystem::directory_iterator(folder, ec)) {
    if (file.path().extension() != ".rmqtrace") continue;
    auto opened = TraceFile::open(file.path().string());
    if (!opened) return tl::unexpected(opened.error());
    files.push_back(std::move(*opened));
  }
  if (ec) return fail(Errc::argument, fmt::format("cannot read the folder {}: {}", folder, ec.message()));
  if (files.empty()) {
    return fail(Errc::argument,
                fmt::format("{} has no rank-*.rmqtrace; record one with rmqrun --trace {}", folder, folder));
  }
  return over(std::move(files));
}

Result<Reader> Reader::over(std::vector<TraceFile> files) {
  std::sort(files.begin(), files.end(),
            [](const TraceFile& a, const TraceFile& b) { return a.header().rank < b.header().rank; });
  Reader r;
  r.files_ = std::move(files);
  if (auto ok = check_ranks(r.files_); !ok) return tl::unexpected(ok.error());
  std::vector<const TraceHeader*> headers;
  for (const TraceFile& f : r.files_) {
    headers.push_back(&f.header());
    r.ranks_.push_back(f.recording());
  }
  r.clocks_.emplace(headers);
  return r;
}

Result<std::uint64_t> Reader::each(const Slice& slice, const std::function<bool(const Entry&)>& look) {
  std::vector<const TraceFile*> files;
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  std::uint64_t all = 0;
  for (const TraceFile& f : files_) {
    if (const auto ticks = f.first_ticks()) first = std::min(first, clocks_->of(f.header().host).ns(*ticks));
    if (slice.rank && *slice.rank != f.header().rank) continue;
    files.push_back(&f);
    all += f.units() * kTraceUnit;
  }
  if (first == std::numeric_limits<std::int64_t>::max()) first = 0;  // there is no event
  const auto at = [&](double us) { return first + bounded_ns(us * 1000); };
  Merge::Options options;
  const bool indexed = clocks_->exact() && !slice.whole();
  if (indexed) options.causal = false;
  if (indexed && slice.from_us) options.from = at(*slice.from_us) - kBefore;
  if (indexed && slice.to_us) options.to = at(*slice.to_us);
  Merge merge(files, *clocks_, options);
  std::uint64_t shown = 0, next_report = kProgressBytes;
  bool started = false;
  while (const Entry* e = merge.next()) {
    if (!started) start_ns_ = clocks_->exact() ? first : e->ns;
    started = true;
    if (progress && merge.bytes() >= next_report) {
      next_report = merge.bytes() + kProgressBytes;
      progress(static_cast<double>(merge.bytes()) / static_cast<double>(std::max<std::uint64_t>(all, 1)),
               merge.bytes());
    }
    Entry shifted = *e;
    shifted.ns -= start_ns_;
    if (e->flow != 0) shifted.sent_ns -= start_ns_;
    const double us = static_cast<double>(shifted.ns) / 1000;
    if (slice.from_us && us < *slice.from_us) continue;
    if (slice.to_us && us > *slice.to_us) {
      if (options.causal) break;
      continue;
    }
    ++shown;
    if (!look(shifted)) return shown;
  }
  if (const TraceFile* f = merge.damaged())
    return fail(Errc::argument, fmt::format("{} is damaged behind its event {}", f->path(), merge.sound_events()));
  return shown;
}

std::vector<std::string> caveats(const Reader& reader) {
  std::vector<std::string> lines;
  for (const Recording& r : reader.ranks()) {
    if (r.dropped == 0) continue;
    lines.push_back(
        fmt::format("{} events at the end of rank {} are missing: {}", r.dropped, r.rank,
                    r.dropped_why ? std::strerror(r.dropped_why) : "its file was as long as --trace-max allowed"));
  }
  const auto size = static_cast<std::size_t>(reader.ranks().front().size);
  if (reader.ranks().size() != size)
    lines.push_back(fmt::format("only {} of the job's {} ranks are here", reader.ranks().size(), size));
  for (const std::string& note : reader.clocks().notes()) lines.push_back(note);
  return lines;
}

}  // namespace rmq::trace

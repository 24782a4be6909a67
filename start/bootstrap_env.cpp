// SPDX-License-Identifier: BSD-3-Clause
#include "start/bootstrap_env.hpp"

#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstring>
#include <unordered_map>

namespace rmq::boot {

namespace {

constexpr int max_ranks = 1 << 24;

std::optional<int> parse_int(std::string_view text, int low, int high) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < low || value > high) return std::nullopt;
  return value;
}

tl::unexpected<Error> bad(const char* name, const char* value) {
  return fail(Errc::config, fmt::format("{}={} makes no sense; start the program with rmqrun or rmqboot, which set it",
                                        name, value == nullptr ? "(unset)" : value));
}

// One integer variable; `fallback` where it may be missing.
Result<int> read_int(const GetEnv& get, const char* name, int low, int high, std::optional<int> fallback = {}) {
  const char* text = get(name);
  if (text == nullptr && fallback) return *fallback;
  const auto value = text == nullptr ? std::nullopt : parse_int(text, low, high);
  if (!value) return bad(name, text);
  return *value;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

std::string format_flight(int fd, std::uint64_t offset) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return {};
  return fmt::format("{}:{}:{}", fd, info.st_ino, offset);
}

void find_flight(const char* text, JobInfo& job) {
  if (text == nullptr) return;
  const char* const end = text + std::strlen(text);
  int fd = -1;
  std::uint64_t inode = 0, offset = 0;
  const auto a = std::from_chars(text, end, fd);
  if (a.ec != std::errc{} || a.ptr == end || *a.ptr != ':') return;
  const auto b = std::from_chars(a.ptr + 1, end, inode);
  if (b.ec != std::errc{} || b.ptr == end || *b.ptr != ':') return;
  const auto c = std::from_chars(b.ptr + 1, end, offset);
  struct stat info {};
  if (c.ec != std::errc{} || c.ptr != end || ::fstat(fd, &info) != 0 || info.st_ino != inode) return;
  job.flight_fd = fd;
  job.flight_at = offset;
}

std::string format_hosts(const Hosts& hosts) {
  std::string out;
  const auto runs = hosts.runs();
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const int end = i + 1 < runs.size() ? runs[i + 1].first : hosts.period();
    fmt::format_to(std::back_inserter(out), "{}{}*{}", i == 0 ? "" : ",", runs[i].host, end - runs[i].first);
  }
  if (hosts.period() != hosts.size()) out += '~';
  return out;
}

Result<Hosts> parse_hosts(std::string_view text, int size) {
  const auto wrong = [&] {
    return fail(Errc::config, fmt::format("'{}' does not place {} ranks on hosts", text.substr(0, 200), size));
  };
  std::string_view rest = text;
  const bool repeats = rest.ends_with('~');
  if (repeats) rest.remove_suffix(1);
  if (rest.ends_with(',')) return wrong();
  std::vector<Hosts::Run> runs;
  int placed = 0;
  while (!rest.empty()) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    const std::string_view run = rest.substr(0, comma);
    rest.remove_prefix(std::min(comma + 1, rest.size()));
    const std::size_t star = run.find('*');
    if (star == std::string_view::npos) return wrong();
    const auto host = parse_int(run.substr(0, star), 0, size - 1);
    const auto count = parse_int(run.substr(star + 1), 1, size - placed);
    if (!host || !count) return wrong();
    runs.push_back({placed, *host});
    placed += *count;
  }
  if (!repeats && placed != size) return wrong();
  auto hosts = Hosts::of_runs(std::move(runs), placed, size);
  if (!hosts) return wrong();
  return *std::move(hosts);
}

std::vector<std::string> host_table(const Hosts& hosts) {
  constexpr std::size_t kPart = 60 * 1024;
  const std::string text = format_hosts(hosts);
  const std::size_t parts = (text.size() + kPart - 1) / kPart;
  std::vector<std::string> out;
  for (std::size_t i = 0; i < parts; ++i)
    out.push_back((i == 0 ? fmt::format("{};", parts) : "") + text.substr(i * kPart, kPart));
  return out;
}

std::string host_table_key(std::size_t part) {
  return fmt::format("hosts.{}", part);
}

Result<Hosts> fetch_hosts(Bootstrap& bootstrap) {
  auto first = bootstrap.get(host_table_key(0));
  if (!first) return tl::make_unexpected(first.error());
  const std::size_t mark = std::min(first->find(';'), first->size());
  const auto parts = parse_int(std::string_view(*first).substr(0, mark), 1, max_ranks);
  if (!parts) return fail(Errc::protocol, "the connection server's table of hosts is damaged");
  std::string text = first->substr(mark + 1);
  for (std::size_t part = 1; part < static_cast<std::size_t>(*parts); ++part) {
    auto more = bootstrap.get(host_table_key(part));
    if (!more) return tl::make_unexpected(more.error());
    text += *more;
  }
  return parse_hosts(text, bootstrap.job().size);
}

Hosts number_hosts(std::span<const std::string> identities) {
  std::unordered_map<std::string_view, int> seen;
  std::vector<int> hosts;
  for (const std::string& identity : identities)
    hosts.push_back(seen.try_emplace(identity, static_cast<int>(seen.size())).first->second);
  return Hosts(hosts);
}

void place_on_host(JobInfo& job) {
  const int mine = job.host_of_rank[job.rank];
  job.host_rank = job.host_of_rank.count(mine, job.rank);
  job.machine_size = job.host_size = job.host_of_rank.count(mine, job.size);
}

Result<LaunchedRank> read_launched_rank(const GetEnv& get) {
  LaunchedRank out;
  const char* server = get("RMQ_SERVER");
  const std::string_view server_text = server == nullptr ? "" : server;
  const auto fd = server_text.starts_with("fd:") ? parse_int(server_text.substr(3), 0, INT_MAX) : std::nullopt;
  if (!fd) return bad("RMQ_SERVER", server);
  out.server_fd = *fd;

  const auto size = read_int(get, "RMQ_SIZE", 1, max_ranks);
  if (!size) return tl::make_unexpected(size.error());
  const auto rank = read_int(get, "RMQ_RANK", 0, *size - 1);
  if (!rank) return tl::make_unexpected(rank.error());
  const auto app = read_int(get, "RMQ_APPNUM", 0, INT_MAX, 0);
  if (!app) return tl::make_unexpected(app.error());
  const auto universe = read_int(get, "RMQ_UNIVERSE_SIZE", 1, INT_MAX, *size);
  if (!universe) return tl::make_unexpected(universe.error());
  out.job.size = *size;
  out.job.rank = *rank;
  out.job.app_num = *app;
  out.job.universe_size = std::max(*universe, *size);
  const char* const wishes = get("RMQ_WISHES");
  out.grants = wishes == nullptr || std::string_view(wishes) != "none";

  const auto hosts = read_int(get, "RMQ_HOSTS", 1, *size);
  if (!hosts) return tl::make_unexpected(hosts.error());
  out.hosts = *hosts;
  out.job.host_of_rank = Hosts::blocks(*size, *size);
  place_on_host(out.job);
  const auto machine = read_int(get, "RMQ_MACHINE_SIZE", 1, *size, *hosts == 1 ? *size : 1);
  if (!machine) return tl::make_unexpected(machine.error());
  out.job.machine_size = *machine;
  const auto cpus = read_int(get, "RMQ_MACHINE_CPUS", 1, INT_MAX, 0);
  if (!cpus) return tl::make_unexpected(cpus.error());
  out.job.machine_cpus = *cpus;

  const char* id = get("RMQ_JOB");
  std::array<std::byte, 8> unused{};
  if (id == nullptr || !from_hex(id, unused)) return bad("RMQ_JOB", id);
  out.job.job = id;
  const char* secret = get("RMQ_SECRET");
  if (secret == nullptr) {
    return fail(
        Errc::config,
        fmt::format("RMQ_SECRET is not set, though this process has the other variables of rank {}: an MPI program "
                    "was started from within a rank; start MPI programs with rmqrun",
                    out.job.rank));
  }
  if (!from_hex(secret, out.job.secret)) return bad("RMQ_SECRET", "(hidden)");
  const char* ft = get("RMQ_FT");
  out.job.ft = ft != nullptr && std::string_view(ft) == "1";
  find_flight(get("RMQ_FLIGHT_MEMORY"), out.job);
  const char* name = get("RMQ_HOST_NAME");
  out.job.host_name = name != nullptr ? name : host_name();
  return out;
}

std::optional<std::string> foreign_launcher(const GetEnv& get) {
  struct Launcher {
    const char* name;
    const char* rank;  // variable that tells a process its rank: the launcher's mark
    const char* size;  // variable with the number of processes, or nullptr
    const char* also_size;
  };
  // PMIX_RANK comes last: Open MPI and Slurm set it too, and only they also tell the size.
  static constexpr Launcher launchers[] = {
      {"Open MPI's mpiexec", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", nullptr},
      {"MVAPICH2's mpiexec", "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", nullptr},
      {"MPICH's mpiexec (or another PMI launcher)", "PMI_RANK", "PMI_SIZE", nullptr},
      {"Flux", "FLUX_TASK_RANK", "FLUX_JOB_SIZE", nullptr},
      {"Slurm's srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"},
      {"a PMIx launcher", "PMIX_RANK", nullptr, nullptr},
  };
  for (const Launcher& launcher : launchers) {
    const char* rank = get(launcher.rank);
    if (rank == nullptr) continue;
    const char* size = launcher.size == nullptr ? nullptr : get(launcher.size);
    if (size == nullptr && launcher.also_size != nullptr) {
      // A batch script is "task 0 of N" too, though nobody has started N of anything yet.
      const char* environment = get("ENVIRONMENT");
      if (environment != nullptr && std::string_view(environment) == "BATCH" && std::string_view(rank) == "0") continue;
      size = get(launcher.also_size);
    }
    const auto count = size == nullptr ? std::nullopt : parse_int(size, 1, INT_MAX);
    if (count == 1) return std::nullopt;
    const std::string n = count ? std::to_string(*count) : "N";
    const bool slurm = get("SLURM_PROCID") != nullptr;  // which speaks PMI and PMIx, where it is asked to
    return fmt::format(
        "{} started this process as rank {}{}, but it finds no PMI-1 or PMIx connection to it, so that it would run as "
        "rank 0 of 1: the launcher has opened none, a wrapper has closed it, or an MPI program was started from within "
        "a rank; use {}'mpiexec -n {} ./prog' of MPICH or Open MPI 4, 'mpiexec -n {} rmqboot ./prog' or 'rmqrun -n {} "
        "./prog' instead",
        launcher.name, rank, count ? " of " + n : "",
        slurm ? fmt::format("'srun --mpi=pmi2 -n {} ./prog' (or --mpi=pmix), ", n) : "", n, n, n);
  }
  return std::nullopt;
}

std::string to_hex(std::span<const std::byte> bytes) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string out;
  out.reserve(bytes.size() * 2);
  for (const std::byte b : bytes) {
    out.push_back(digits[std::to_integer<unsigned>(b) >> 4]);
    out.push_back(digits[std::to_integer<unsigned>(b) & 15]);
  }
  return out;
}

bool from_hex(std::string_view text, std::span<std::byte> out) {
  if (text.size() != out.size() * 2) return false;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const int high = hex_digit(text[2 * i]), low = hex_digit(text[2 * i + 1]);
    if (high < 0 || low < 0) return false;
    out[i] = static_cast<std::byte>(high << 4 | low);
  }
  return true;
}

void fill_random(std::span<std::byte> out) {
  while (!out.empty()) {
    const ssize_t got = ::getrandom(out.data(), out.size(), 0);
    RMQ_CHECK(got > 0 || errno == EINTR);  // getrandom of a few bytes has no other failure
    if (got > 0) out = out.subspan(static_cast<std::size_t>(got));
  }
}

int universe_size(int asked, int size) {
  if (asked > 0) return std::max(asked, size);
  return std::max(2 * size, static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN)));
}

std::string host_name() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

JobInfo singleton_job() {
  JobInfo job;
  std::array<std::byte, 8> id{};
  fill_random(id);
  fill_random(job.secret);
  job.job = to_hex(id);
  job.host_name = host_name();
  return job;
}

}  // namespace rmq::boot

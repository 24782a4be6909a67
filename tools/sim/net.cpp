// SPDX-License-Identifier: BSD-3-Clause
#include "tools/sim/net.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <sstream>
#include <variant>

#include "tools/process/fd.hpp"

namespace rmq::sim {
namespace {

using methods::LinkCost;
using methods::SimCost;

constexpr double kMost = 1e12;  // ns or bytes: sums of very many are still times

struct Entry {
  std::string_view name;
  std::variant<double*, std::size_t*, int*> value;
  std::string_view meaning;
};

std::vector<Entry> table(SimCost& c) {
  std::vector<Entry> all;
  const auto link = [&](bool within, LinkCost& l) {
    const auto name = [within](std::string_view w, std::string_view b) { return within ? w : b; };
    all.push_back({name("within.latency", "between.latency"), &l.latency, "ns from the end of a send to the receive"});
    all.push_back({name("within.send", "between.send"), &l.send, "ns of CPU, of a packet at its sender"});
    all.push_back({name("within.receive", "between.receive"), &l.receive, "ns of CPU, of a packet at its receiver"});
    all.push_back({name("within.send_byte", "between.send_byte"), &l.send_byte, "ns of CPU, of a byte, likewise"});
    all.push_back({name("within.receive_byte", "between.receive_byte"), &l.receive_byte, "ns of CPU"});
    if (!within) {
      all.push_back({"between.wire_byte", &l.wire_byte, "ns that a byte holds up a host's network interface"});
      all.push_back({"between.gap", &l.gap, "ns that a packet does"});
      all.push_back({"between.look", &l.look, "ns of CPU, of a look whether something has come, in vain"});
    }
    all.push_back({name("within.eager_max", "between.eager_max"), &l.eager_max, "bytes that travel at once"});
    all.push_back({name("within.fragment_max", "between.fragment_max"), &l.fragment_max, "bytes of a packet, longest"});
  };
  link(true, c.within);
  link(false, c.between);
  all.push_back({"copy", &c.copy, "ns of a call that copies from process to process"});
  all.push_back({"copy_byte", &c.copy_byte, "ns of a byte, there"});
  all.push_back({"copy_shared", &c.copy_shared, "part of that where each rank has a CPU, and both copy"});
  all.push_back({"combine_byte", &c.combine_byte, "ns of a byte of an operand of a reduction"});
  all.push_back({"queue", &c.queue, "bytes that a network interface takes ahead of the wire"});
  all.push_back({"cpus", &c.cpus, "of a host, for its ranks to share; 0: one for each"});
  all.push_back({"pretended", &c.pretended, "1: all hosts share those of one machine, as pretended hosts do"});
  all.push_back({"turn", &c.turn, "ns of a CPU that goes from one rank to another"});
  return all;
}

template <class T>
bool parse(std::string_view text, T& value) {
  T read{};
  const auto end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, read);
  // Not a number is no less than nothing either.
  if (error != std::errc{} || at != end || !(read >= T{}) || static_cast<double>(read) > kMost) return false;
  value = read;
  return true;
}

std::string_view trim(std::string_view s) {
  constexpr std::string_view kBlank = " \t\r";
  const std::size_t first = s.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return s.substr(first, s.find_last_not_of(kBlank) - first + 1);
}

}  // namespace

SimCost default_cost() {
  SimCost c;
  c.within = {.latency = 70,
              .send = 60,
              .receive = 130,
              .send_byte = 0.06,
              .receive_byte = 0.06,
              .eager_max = 16 * 1024,
              .fragment_max = 128 * 1024};
  c.between = {.latency = 4000,
               .send = 2500,
               .receive = 2500,
               .send_byte = 0.1,
               .receive_byte = 0.15,
               .wire_byte = 0.32,
               .gap = 40,
               .look = 500,
               .eager_max = 32 * 1024,
               .fragment_max = 1024 * 1024};
  c.copy = 500;
  c.copy_byte = 0.1;
  c.combine_byte = 0.08;
  c.turn = 1500;
  return c;
}

Result<SimCost> read_cost(const std::string& path) {
  SimCost cost = default_cost();
  const std::vector<Entry> entries = table(cost);
  const auto costs = launch::read_file(path);
  if (!costs) return fail(Errc::config, fmt::format("the network's costs in {}: {}", path, costs.error().what));
  std::istringstream file(*costs);
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    const std::string_view text = trim(std::string_view(line).substr(0, line.find('#')));
    if (text.empty()) continue;
    const std::size_t equals = text.find('=');
    const auto wrong = [&](std::string_view why) {
      return fail(Errc::config, fmt::format("{}:{}: {} ('{}')", path, number, why, text));
    };
    if (equals == std::string_view::npos) return wrong("expects <name> = <number>");
    const std::string_view name = trim(text.substr(0, equals)), value = trim(text.substr(equals + 1));
    const auto entry = std::find_if(entries.begin(), entries.end(), [&](const Entry& e) { return e.name == name; });
    if (entry == entries.end()) return wrong("no cost has this name (rmqsim --print-net lists them)");
    if (!std::visit([&](auto* to) { return parse(value, *to); }, entry->value))
      return wrong("expects a number from 0 to 1e12");
  }
  return cost;
}

std::string text_of(const SimCost& cost) {
  SimCost copy = cost;
  std::string out;
  for (const Entry& e : table(copy)) {
    const std::string value = std::visit([](const auto* v) { return fmt::format("{}", *v); }, e.value);
    out += fmt::format("{:<22} = {:<10} # {}\n", e.name, value, e.meaning);
  }
  return out;
}

}  // namespace rmq::sim

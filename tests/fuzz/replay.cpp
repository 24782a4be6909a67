// SPDX-License-Identifier: BSD-3-Clause
// A fuzzer as a plain program: replays its seeds and the inputs in the named files and folders, and, on demand, random
// changes of them. Needs no libFuzzer, so every build has it.
//
//   fuzz_<name>_replay [--seeds FOLDER] [--random COUNT] [--seed N] [FILE | FOLDER]…
//       --seeds: writes the seeds there, for libFuzzer to start from, and does nothing else
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

#include "fuzz/fuzz.hpp"

namespace {

using rmq::fuzz::Script;

Script read(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

void run(const Script& script) {
  LLVMFuzzerTestOneInput(script.data(), script.size());
}

Script changed(Script script, const std::vector<Script>& all, std::mt19937_64& random) {
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % std::max<std::size_t>(n, 1)); };
  for (std::size_t changes = 1 + below(6); changes > 0; --changes) {
    const std::size_t at = below(script.size() + 1);
    const auto place = script.begin() + static_cast<std::ptrdiff_t>(at);
    switch (below(4)) {
      case 0:
        if (at < script.size()) script[at] = static_cast<std::uint8_t>(below(2) ? random() : random() % 8);
        break;
      case 1:
        script.insert(place, static_cast<std::uint8_t>(random()));
        break;
      case 2:
        script.erase(place, place + static_cast<std::ptrdiff_t>(std::min(below(8), script.size() - at)));
        break;
      default: {
        const Script& other = all[below(all.size())];
        const std::size_t from = below(other.size()), bytes = std::min(below(200), other.size() - from);
        script.insert(place, other.begin() + static_cast<std::ptrdiff_t>(from),
                      other.begin() + static_cast<std::ptrdiff_t>(from + bytes));
      }
    }
  }
  return script;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<Script> all = rmq::fuzz::seeds();
  std::size_t random_runs = 0;
  std::uint64_t seed = 1;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--seeds" && i + 1 < argc) {
      const std::filesystem::path folder = argv[i + 1];
      std::filesystem::create_directories(folder);
      for (std::size_t k = 0; k < all.size(); ++k) {
        std::ofstream(folder / ("seed" + std::to_string(k)), std::ios::binary)
            .write(reinterpret_cast<const char*>(all[k].data()), static_cast<std::streamsize>(all[k].size()));
      }
      return 0;
    } else if (word == "--random" && i + 1 < argc) {
      random_runs = std::stoull(argv[++i]);
    } else if (word == "--seed" && i + 1 < argc) {
      seed = std::stoull(argv[++i]);
    } else if (std::filesystem::is_directory(word)) {
      std::vector<std::filesystem::path> files;
      for (const auto& entry : std::filesystem::directory_iterator(word)) files.push_back(entry.path());
      std::sort(files.begin(), files.end());
      for (const auto& file : files) all.push_back(read(file));
    } else if (std::filesystem::exists(word)) {
      all.push_back(read(word));
    } else {
      std::fprintf(stderr, "%s: no such file or option\n", argv[i]);
      return 2;
    }
  }
  for (const Script& script : all) run(script);
  std::mt19937_64 random(seed);
  const std::vector<Script> known = all;
  for (std::size_t i = 0; i < random_runs; ++i) run(changed(known[random() % known.size()], known, random));
  std::printf("%zu inputs, %zu random ones from seed %llu\n", known.size(), random_runs,
              static_cast<unsigned long long>(seed));
  return 0;
}

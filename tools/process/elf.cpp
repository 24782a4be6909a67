// SPDX-License-Identifier: BSD-3-Clause
#include "tools/process/elf.hpp"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "tools/process/fd.hpp"

namespace rmq::launch {
namespace {

using Header = ElfW(Ehdr);
using Segment = ElfW(Phdr);
using Entry = ElfW(Dyn);

/// Up to `count` objects from this place of the file; fewer where it ends.
template <class T>
std::vector<T> read_all(int fd, std::uint64_t offset, std::size_t count) {
  constexpr std::size_t kMost = 1 << 20;  // bytes; no program's tables are larger
  std::vector<T> all(std::min(count, kMost / sizeof(T)));
  const ssize_t got = ::pread(fd, all.data(), all.size() * sizeof(T), static_cast<off_t>(offset));
  all.resize(got > 0 ? static_cast<std::size_t>(got) / sizeof(T) : 0);
  return all;
}

bool is_of_this_machine(const Header& h) {
  constexpr int kClass = sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32;
  return std::memcmp(h.e_ident, ELFMAG, SELFMAG) == 0 && h.e_ident[EI_CLASS] == kClass &&
         h.e_phentsize == sizeof(Segment);
}

/// Where in the file an address lies; 0: nowhere.
std::uint64_t offset_of(const std::vector<Segment>& segments, std::uint64_t address) {
  for (const Segment& s : segments)
    if (s.p_type == PT_LOAD && address >= s.p_vaddr && address - s.p_vaddr < s.p_filesz)
      return s.p_offset + (address - s.p_vaddr);
  return 0;
}

}  // namespace

std::vector<std::string> needed_libraries(const std::string& file) {
  const UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  const auto header = read_all<Header>(fd.get(), 0, 1);
  if (header.empty() || !is_of_this_machine(header[0])) return {};
  const auto segments = read_all<Segment>(fd.get(), header[0].e_phoff, header[0].e_phnum);
  const auto dynamic = std::ranges::find(segments, static_cast<std::uint32_t>(PT_DYNAMIC), &Segment::p_type);
  if (dynamic == segments.end()) return {};
  auto entries = read_all<Entry>(fd.get(), dynamic->p_offset, dynamic->p_filesz / sizeof(Entry));
  entries.erase(std::ranges::find(entries, DT_NULL, &Entry::d_tag), entries.end());
  const auto names = std::ranges::find(entries, DT_STRTAB, &Entry::d_tag);
  const std::uint64_t text = names == entries.end() ? 0 : offset_of(segments, names->d_un.d_ptr);
  if (text == 0) return {};
  constexpr std::size_t kLongest = 4096;
  std::vector<std::string> libraries;
  for (const Entry& e : entries) {
    if (e.d_tag != DT_NEEDED) continue;
    const auto name = read_all<char>(fd.get(), text + e.d_un.d_val, kLongest);
    libraries.emplace_back(name.begin(), std::ranges::find(name, '\0'));
  }
  return libraries;
}

// The library of MPICH's ABI is libmpi.so.12, that of MPI's own libmpi_abi.so.
std::string of_open_mpi(const std::vector<std::string>& libraries) {
  constexpr std::array<std::string_view, 4> kNames{"libmpi.so.0", "libmpi.so.1", "libmpi.so.20", "libmpi.so.40"};
  constexpr std::array<std::string_view, 3> kBeginnings{"libmpi_mpifh.so", "libmpi_cxx.so", "libmpi_usempi"};
  const auto found = std::ranges::find_if(libraries, [&](const std::string& library) {
    return std::ranges::find(kNames, library) != kNames.end() ||
           std::ranges::any_of(kBeginnings, [&](std::string_view start) { return library.starts_with(start); });
  });
  return found == libraries.end() ? std::string() : *found;
}

}  // namespace rmq::launch

// SPDX-License-Identifier: BSD-3-Clause
#include "shmem/segments.hpp"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <string_view>
#include <utility>

#include "base/data/fnv.hpp"

namespace rmq::shmem {
namespace {

constexpr std::uintptr_t kPage = 4096;

std::uintptr_t page_down(std::uintptr_t a) {
  return a / kPage * kPage;
}
std::uintptr_t page_up(std::uintptr_t a) {
  return page_down(a + kPage - 1);
}

// Libraries of the system have no symmetric variables; that of RMQ, where its own state lies, must stay where it is.
bool is_of_program(const dl_phdr_info& object, bool first) {
  if (first) return true;
  const std::string_view name = object.dlpi_name;
  for (const char* system : {"/lib", "/usr/lib", "linux-"})
    if (name.empty() || name.starts_with(system)) return false;
  if (name.find("/rmq_method_") != name.npos) return false;
  const auto mine = reinterpret_cast<std::uintptr_t>(&is_of_program);
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const auto& part = object.dlpi_phdr[i];
    if (part.p_type == PT_LOAD && mine - object.dlpi_addr - part.p_vaddr < part.p_memsz) return false;
  }
  return true;
}

std::string_view bytes_of(const dl_phdr_info& object, const ElfW(Phdr) & part) {
  return {reinterpret_cast<const char*>(object.dlpi_addr + part.p_vaddr), part.p_memsz};
}

// What the linker has made of the content of the whole object; empty where it was told not to.
std::string_view build_id(const dl_phdr_info& object) {
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const auto& part = object.dlpi_phdr[i];
    if (part.p_type != PT_NOTE) continue;
    const std::size_t align = part.p_align == 8 ? 8 : 4;
    const auto padded = [&](std::size_t n) { return (n + align - 1) / align * align; };
    for (std::string_view notes = bytes_of(object, part); notes.size() > sizeof(ElfW(Nhdr));) {
      ElfW(Nhdr) note;
      std::memcpy(&note, notes.data(), sizeof note);
      const std::size_t at = sizeof note + padded(note.n_namesz), end = at + note.n_descsz;
      if (end > notes.size()) break;
      const std::string_view name = notes.substr(sizeof note, note.n_namesz);
      if (note.n_type == NT_GNU_BUILD_ID && name == std::string_view("GNU", 4)) return notes.substr(at, note.n_descsz);
      notes.remove_prefix(std::min(notes.size(), padded(end)));
    }
  }
  return {};
}

// Which object it is, wherever it lies and whatever has been loaded before: its build id, or what it has that nobody
// writes to, which is as in its file. A library's name tells copies of it from one another; the executable is alone,
// and may be started by any name.
std::uint64_t identity_of(const dl_phdr_info& object, bool first) {
  const std::string_view name = object.dlpi_name;
  Fnv hash;
  hash.bytes(first ? "" : name.substr(name.rfind('/') + 1));
  if (const std::string_view id = build_id(object); !id.empty()) return hash.bytes(id).value();
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const auto& part = object.dlpi_phdr[i];
    hash.word(part.p_vaddr).word(part.p_memsz);
    if (part.p_type == PT_LOAD && (part.p_flags & (PF_R | PF_W)) == PF_R) hash.bytes(bytes_of(object, part));
  }
  return hash.value();
}

// What is writable after relocation: from the end of PT_GNU_RELRO, which lies at the begin of that part.
void add_data(const dl_phdr_info& object, std::uint64_t identity, std::vector<Segment>& to) {
  std::uintptr_t relro_end = 0;
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const auto& part = object.dlpi_phdr[i];
    if (part.p_type == PT_GNU_RELRO) relro_end = page_down(object.dlpi_addr + part.p_vaddr + part.p_memsz);
  }
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const auto& part = object.dlpi_phdr[i];
    if (part.p_type != PT_LOAD || (part.p_flags & PF_W) == 0) continue;
    const std::uintptr_t from = object.dlpi_addr + part.p_vaddr, end = page_up(from + part.p_memsz);
    const std::uintptr_t begin = std::max(page_down(from), std::min(relro_end, end));
    if (begin >= end) continue;
    Segment& s = to.emplace_back();
    s.begin = reinterpret_cast<std::byte*>(begin);
    s.bytes = end - begin;
    s.identity = Fnv().word(identity).word(part.p_vaddr).word(s.bytes).value();
    // One that is loaded twice: the first, the second one in each PE.
    while (std::any_of(to.begin(), to.end() - 1, [&](const Segment& o) { return o.identity == s.identity; }))
      s.identity = Fnv().word(s.identity).word(s.bytes).value();
  }
}

// Whether the program, or a library of it, has one of these functions: how a sanitizer shows itself. It is the
// program's that counts: the library may be built without.
bool has_any(std::initializer_list<const char*> functions) {
  return std::ranges::any_of(functions, [](const char* name) { return ::dlsym(RTLD_DEFAULT, name) != nullptr; });
}

struct Objects {
  std::vector<Segment> data;
  std::vector<std::string> libraries;  // that data belongs to
  bool first = true;                   // the executable
};

int on_object(dl_phdr_info* object, std::size_t, void* list) {
  auto& all = *static_cast<Objects*>(list);
  if (is_of_program(*object, all.first)) {
    add_data(*object, identity_of(*object, all.first), all.data);
    if (!all.first) all.libraries.emplace_back(object->dlpi_name);
  }
  all.first = false;
  return 0;
}

bool has_one_thread() {
  std::error_code error;
  const std::filesystem::directory_iterator tasks("/proc/self/task", error);
  return !error && std::distance(begin(tasks), end(tasks)) == 1;
}

// An address with room for so many bytes from `before` bytes below it on, or null. Another thread may take it before
// the heap does: then there is none, as where the system has no room.
void* find_place(std::uint64_t bytes, std::uint64_t before) {
  const std::uint64_t all = bytes + kHeapAlignment;
  void* const room = ::mmap(nullptr, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) return nullptr;
  ::munmap(room, all);
  const std::uintptr_t least = reinterpret_cast<std::uintptr_t>(room) + before;
  return reinterpret_cast<void*>((least + kHeapAlignment - 1) / kHeapAlignment * kHeapAlignment);
}

bool is_zero(const std::byte* page) {
  static constexpr std::array<std::byte, kPage> kZero{};
  return std::memcmp(page, kZero.data(), kPage) == 0;
}

// Copies the pages that hold anything; `to` is all zero.
void copy_pages(std::byte* to, const std::byte* from, std::uint64_t bytes) {
  for (std::uint64_t at = 0; at < bytes; at += kPage)
    if (!is_zero(from + at)) std::memcpy(to + at, from + at, kPage);
}

// ---- children ----

struct Moved {
  std::byte* begin;
  std::uint64_t bytes;
  std::shared_ptr<rma::HostMemory> file;
};
/// Written while the process has one thread; never destroyed, for a destructor of the program may fork.
std::vector<Moved>& moved_data() {
  static auto* const all = new std::vector<Moved>;
  return *all;
}

// A child that the program forks has data of its own, as it was when the fork was asked for: the parent changes what is
// shared while the child begins. So the copy is made before, by the thread that forks, and the child moves it there.
// Nothing but RMQ's own code runs in that thread between the copy and fork(): its signals are blocked.
thread_local std::byte* copies = nullptr;
thread_local sigset_t signals_of_program;
bool is_child = false;  // whose data is its own: only the system copies it when it forks in turn

bool shares_nothing() {
  return is_child || moved_data().empty();
}

std::uint64_t bytes_of_copies() {
  std::uint64_t all = 0;
  for (const Moved& data : moved_data()) all += data.bytes;
  return all;
}

// Only pages that the file has are looked at: to read any other would allocate it.
void copy_file(std::byte* to, const Moved& data) {
  for (std::uint64_t at = 0; at < data.bytes;) {
    const auto [from, end] = data.file->pages_from(at);
    copy_pages(to + from, data.begin + from, end - from);
    at = end;
  }
}

void before_fork() {
  if (shares_nothing()) return;
  sigset_t all;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &signals_of_program);
  void* const room =
      ::mmap(nullptr, bytes_of_copies(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  copies = room == MAP_FAILED ? nullptr : static_cast<std::byte*>(room);
  if (!copies) return;
  std::byte* to = copies;
  for (const Moved& data : moved_data()) {
    copy_file(to, data);
    to += data.bytes;
  }
}

void in_parent() {
  if (shares_nothing()) return;
  if (copies) ::munmap(std::exchange(copies, nullptr), bytes_of_copies());
  ::pthread_sigmask(SIG_SETMASK, &signals_of_program, nullptr);
}

// Only system calls.
void in_child() {
  if (shares_nothing()) return;
  if (!copies) ::_exit(127);  // without memory for its data it would write to that of its parent
  std::byte* from = std::exchange(copies, nullptr);
  for (const Moved& data : moved_data()) {
    if (::mremap(from, data.bytes, data.bytes, MREMAP_MAYMOVE | MREMAP_FIXED, data.begin) == MAP_FAILED) ::_exit(127);
    from += data.bytes;
  }
  is_child = true;
  ::pthread_sigmask(SIG_SETMASK, &signals_of_program, nullptr);
}

// Handlers that are registered later run before the copy is made in the parent, and after the child has moved it: what
// they write there is in the copy, and what they write in the child is the child's. So these are the first ones, as far
// as RMQ can have them so: they are registered when it is loaded, before the constructors of what needs it.
[[gnu::constructor]] void watch_forks() {
  ::pthread_atfork(before_fork, in_parent, in_child);
}

}  // namespace

std::vector<Segment> find_data() {
  Objects all;
  ::dl_iterate_phdr(on_object, &all);
  // Other PEs reach it until the end: dlclose() may not take it away.
  for (const std::string& library : all.libraries) ::dlopen(library.c_str(), RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
  return std::move(all.data);
}

void share_data(Segment& data) {
  // A sanitizer has its own idea of that memory.
  if (has_any({"__asan_init", "__hwasan_init", "__msan_init", "__tsan_init"})) return;
  if (!has_one_thread()) return;
  auto file = std::make_shared<rma::HostMemory>(rma::HostMemory::make_sparse(data.bytes, nullptr));
  if (!*file) return;
  // No handler may write to what has been copied.
  sigset_t all, before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  copy_pages(file->data(), data.begin, data.bytes);
  const bool done = file->map_over(data.begin);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!done) return;
  moved_data().push_back({data.begin, data.bytes, file});
  data.file = std::move(file);
}

// Between what the system uses from below (programs and their heaps from 0x5555'0000'0000 on, sanitizers below
// 0x1000'0000'0000) and from above.
void* heap_address(int attempt) {
  constexpr int kMost = 8;
  // With these no such place is free of their own memory.
  if (attempt >= kMost || has_any({"__msan_init", "__tsan_init"})) return nullptr;
  return reinterpret_cast<void*>(std::uintptr_t{0x1000'0000'0000} +
                                 static_cast<std::uintptr_t>(attempt) * 0x0800'0000'0000);
}

Segment open_heap(std::uint64_t bytes, std::uint64_t control, void* address) {
  Segment heap;
  if (!address) address = find_place(control + bytes, control);
  if (!address) return heap;
  rma::HostMemory file = rma::HostMemory::make_sparse(control + bytes, static_cast<std::byte*>(address) - control);
  if (!file) return heap;
  heap.begin = file.data() + control;
  heap.bytes = bytes;
  heap.at = control;
  heap.file = std::make_shared<rma::HostMemory>(std::move(file));
  return heap;
}

std::optional<std::uint64_t> parse_size(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || !std::isfinite(value) || value < 0) return std::nullopt;
  double unit = 1;
  if (*end != '\0') {
    const std::string_view units = "kmgt";
    const auto at = units.find(static_cast<char>(*end | 0x20));
    if (at == units.npos) return std::nullopt;
    unit = std::ldexp(1.0, 10 * (static_cast<int>(at) + 1));
    ++end;
    if (*end == 'B' || *end == 'b') ++end;
  }
  const double bytes = std::ceil(value * unit);
  if (*end != '\0' || bytes > std::ldexp(1.0, Segment::kNameShift)) return std::nullopt;
  return static_cast<std::uint64_t>(bytes);
}

}  // namespace rmq::shmem

// SPDX-License-Identifier: BSD-3-Clause
#include "engine/call/error_codes.hpp"

#include <array>
#include <mutex>
#include <vector>

#include "engine/include/rmq_mpi_types.h"

namespace rmq::mpi {
namespace {

constexpr int kClassBits = 8, kClassMask = 0xff;
constexpr int kFirstAdded = 0x40000000;  // above MPI_ERR_LASTCODE
constexpr int kNumbers = 1 << 20;
constexpr std::size_t kKept = 64;

struct Kept {
  int code = 0;
  std::string text;
};

/// Error codes may be asked for at any time and by any thread, also while the device is held elsewhere.
struct Codes {
  std::mutex mutex;
  int next_number = 1;
  std::array<Kept, kKept> kept;
  std::vector<AddedCode> added;
  std::vector<int> free;  // numbers of those that were removed
};
Codes& codes() {
  static Codes* const all = new Codes;  // never destroyed, like the runtime
  return *all;
}

struct ClassText {
  int error_class;
  const char* text;
};
constexpr ClassText kClasses[] = {
    {MPI_SUCCESS, "no error"},
    {MPI_ERR_BUFFER, "invalid buffer pointer, or an attached buffer that is too small"},
    {MPI_ERR_COUNT, "invalid count"},
    {MPI_ERR_TYPE, "invalid datatype"},
    {MPI_ERR_TAG, "invalid tag"},
    {MPI_ERR_COMM, "invalid communicator"},
    {MPI_ERR_RANK, "invalid rank"},
    {MPI_ERR_ROOT, "invalid root"},
    {MPI_ERR_GROUP, "invalid group"},
    {MPI_ERR_OP, "invalid reduction operation"},
    {MPI_ERR_TOPOLOGY, "invalid topology"},
    {MPI_ERR_DIMS, "invalid dimensions"},
    {MPI_ERR_ARG, "invalid argument"},
    {MPI_ERR_UNKNOWN, "unknown error"},
    {MPI_ERR_TRUNCATE, "message is longer than the receive buffer"},
    {MPI_ERR_OTHER, "other error"},
    {MPI_ERR_INTERN, "internal error of the MPI library"},
    {MPI_ERR_IN_STATUS, "the error codes are in the statuses"},
    {MPI_ERR_PENDING, "the operation is still under way"},
    {MPI_ERR_REQUEST, "invalid request"},
    {MPI_ERR_ACCESS, "permission denied"},
    {MPI_ERR_AMODE, "invalid access mode"},
    {MPI_ERR_BAD_FILE, "invalid file name"},
    {MPI_ERR_CONVERSION, "a data conversion function failed"},
    {MPI_ERR_DUP_DATAREP, "this data representation is defined already"},
    {MPI_ERR_FILE_EXISTS, "the file exists"},
    {MPI_ERR_FILE_IN_USE, "the file is in use"},
    {MPI_ERR_FILE, "invalid file handle"},
    {MPI_ERR_INFO, "invalid info object"},
    {MPI_ERR_INFO_KEY, "invalid info key"},
    {MPI_ERR_INFO_VALUE, "invalid info value"},
    {MPI_ERR_INFO_NOKEY, "the info object has no such key"},
    {MPI_ERR_IO, "input or output failed"},
    {MPI_ERR_NAME, "no service is published under this name"},
    {MPI_ERR_NO_MEM, "out of memory"},
    {MPI_ERR_NOT_SAME, "the processes passed different arguments"},
    {MPI_ERR_NO_SPACE, "no space left on the device"},
    {MPI_ERR_NO_SUCH_FILE, "no such file"},
    {MPI_ERR_PORT, "invalid port name"},
    {MPI_ERR_QUOTA, "quota exceeded"},
    {MPI_ERR_READ_ONLY, "the file or file system is read-only"},
    {MPI_ERR_SERVICE, "invalid service name"},
    {MPI_ERR_SPAWN, "processes could not be started"},
    {MPI_ERR_UNSUPPORTED_DATAREP, "unsupported data representation"},
    {MPI_ERR_UNSUPPORTED_OPERATION, "unsupported operation"},
    {MPI_ERR_WIN, "invalid window"},
    {MPI_ERR_BASE, "invalid base address"},
    {MPI_ERR_LOCKTYPE, "invalid lock type"},
    {MPI_ERR_KEYVAL, "invalid keyval"},
    {MPI_ERR_RMA_CONFLICT, "conflicting accesses to a window"},
    {MPI_ERR_RMA_SYNC, "wrong synchronisation of one-sided operations"},
    {MPI_ERR_SIZE, "invalid size"},
    {MPI_ERR_DISP, "invalid displacement"},
    {MPI_ERR_ASSERT, "invalid assertion"},
    {MPI_ERR_RMA_RANGE, "the target memory is not in the window"},
    {MPI_ERR_RMA_ATTACH, "the memory cannot be attached"},
    {MPI_ERR_RMA_SHARED, "the memory cannot be shared"},
    {MPI_ERR_RMA_FLAVOR, "the window has the wrong flavour"},
    {MPI_T_ERR_MEMORY, "tools interface: out of memory"},
    {MPI_T_ERR_NOT_INITIALIZED, "tools interface: not initialised"},
    {MPI_T_ERR_CANNOT_INIT, "tools interface: cannot be initialised"},
    {MPI_T_ERR_INVALID_INDEX, "tools interface: invalid index"},
    {MPI_T_ERR_INVALID_ITEM, "tools interface: invalid item"},
    {MPI_T_ERR_INVALID_HANDLE, "tools interface: invalid handle"},
    {MPI_T_ERR_OUT_OF_HANDLES, "tools interface: out of handles"},
    {MPI_T_ERR_OUT_OF_SESSIONS, "tools interface: out of sessions"},
    {MPI_T_ERR_INVALID_SESSION, "tools interface: invalid session"},
    {MPI_T_ERR_CVAR_SET_NOT_NOW, "tools interface: the variable cannot be set now"},
    {MPI_T_ERR_CVAR_SET_NEVER, "tools interface: the variable can never be set"},
    {MPI_T_ERR_PVAR_NO_STARTSTOP, "tools interface: the variable cannot be started or stopped"},
    {MPI_T_ERR_PVAR_NO_WRITE, "tools interface: the variable cannot be written"},
    {MPI_T_ERR_PVAR_NO_ATOMIC, "tools interface: the variable cannot be read and reset at once"},
    {MPI_T_ERR_INVALID_NAME, "tools interface: invalid name"},
    {MPI_T_ERR_INVALID, "tools interface: invalid use"},
    {MPI_T_ERR_NOT_SUPPORTED, "tools interface: not supported"},
    {MPI_T_ERR_NOT_ACCESSIBLE, "tools interface: not accessible"},
    {MPI_ERR_SESSION, "invalid session"},
    {MPI_ERR_ERRHANDLER, "invalid error handler"},
    {MPI_ERR_PROC_ABORTED, "a process has aborted"},
    {MPI_ERR_VALUE_TOO_LARGE, "the value does not fit the type of the result"},
    {MPIX_ERR_PROC_FAILED, "a process has failed"},
    {MPIX_ERR_PROC_FAILED_PENDING, "a process has failed; the operation is still under way"},
    {MPIX_ERR_REVOKED, "the communicator has been revoked"},
    {MPIX_ERR_EAGAIN, "try again"},
    {MPIX_ERR_NOREQ, "no request can be had"},
};

const char* class_text(int error_class) {
  for (const ClassText& c : kClasses) {
    if (c.error_class == error_class) return c.text;
  }
  return nullptr;
}

AddedCode* find_added(Codes& all, int code) {
  const auto index = static_cast<std::size_t>(code - kFirstAdded);
  return code >= kFirstAdded && index < all.added.size() && !all.added[index].removed ? &all.added[index] : nullptr;
}

void remove(Codes& all, int code, AddedCode& a) {
  if (AddedCode* of = a.class_code == code ? nullptr : find_added(all, a.class_code)) --of->codes;
  a = {a.class_code, {}, true};
  all.free.push_back(code);
}

}  // namespace

int add_error_code(int error_class) {
  Codes& all = codes();
  const std::scoped_lock lock(all.mutex);
  if (all.free.empty()) {
    all.free.push_back(kFirstAdded + static_cast<int>(all.added.size()));
    all.added.emplace_back();
  }
  const int code = all.free.back();
  all.free.pop_back();
  all.added[static_cast<std::size_t>(code - kFirstAdded)] = {error_class < 0 ? code : error_class, {}};
  if (AddedCode* of = error_class < 0 ? nullptr : find_added(all, error_class)) ++of->codes;
  return code;
}

bool change_error_code(int code, const std::function<Fate(AddedCode&)>& change) {
  Codes& all = codes();
  const std::scoped_lock lock(all.mutex);
  AddedCode* const a = find_added(all, code);
  if (!a) return false;
  if (change(*a) == Fate::removed) remove(all, code, *a);
  return true;
}

int make_error_code(int error_class, std::string_view text) {
  if (text.empty() || !class_text(error_class)) return error_class;
  Codes& all = codes();
  const std::scoped_lock lock(all.mutex);
  const int number = all.next_number;
  all.next_number = number + 1 == kNumbers ? 1 : number + 1;
  const int code = (number << kClassBits) | error_class;
  all.kept[static_cast<std::size_t>(number) % kKept] = {code, std::string(text.substr(0, MPI_MAX_ERROR_STRING - 1))};
  return code;
}

int class_of_code(int code) {
  if (code < 0) return -1;
  if (code < kFirstAdded) return class_text(code & kClassMask) ? code & kClassMask : -1;
  Codes& all = codes();
  const std::scoped_lock lock(all.mutex);
  const AddedCode* a = find_added(all, code);
  return a ? a->class_code : -1;
}

std::string text_of_code(int code) {
  Codes& all = codes();
  const std::scoped_lock lock(all.mutex);
  if (const AddedCode* a = find_added(all, code)) return a->text;
  const Kept& kept = all.kept[static_cast<std::size_t>(code >> kClassBits) % kKept];
  if (kept.code == code && code > kClassMask) return kept.text;
  const char* text = class_text(code & kClassMask);
  return text ? text : "";
}

int last_used_code() {
  Codes& all = codes();
  const std::scoped_lock lock(all.mutex);
  return kFirstAdded - 1 + static_cast<int>(all.added.size());
}

}  // namespace rmq::mpi

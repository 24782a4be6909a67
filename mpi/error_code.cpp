// Error codes: predefined classes, codes that carry the text of one failure, and those that the program adds.
//
//   0x000000cc   class cc, as mpi.h has it
//   0x00nnnncc   failure number n of class cc: its text is kept among the latest kKept
//   0x40000000+  added by MPI_Add_error_class or MPI_Add_error_code, numbered in order
#include <fmt/format.h>

#include <array>
#include <cstring>
#include <mutex>
#include <vector>

#include "mpi/internal/call.hpp"

namespace rmq::mpi {
namespace {

constexpr int kClassBits = 8, kClassMask = 0xff;
constexpr int kFirstAdded = 0x40000000;  // above MPI_ERR_LASTCODE
constexpr int kNumbers = 1 << 20;
constexpr std::size_t kKept = 64;

struct Added {
  int class_code;
  std::string text;
};
struct Kept {
  int code = 0;
  std::string text;
};

/// Error codes may be asked for at any time and by any thread, also while the device is held elsewhere.
struct Codes {
  std::mutex mutex;
  int next_number = 1;
  std::array<Kept, kKept> kept;
  std::vector<Added> added;
};
Codes& codes() {
  static Codes* const all = new Codes;  // never destroyed, like the runtime
  return *all;
}

const char* class_text(int error_class) {
  switch (error_class) {
    case MPI_SUCCESS: return "no error";
    case MPI_ERR_BUFFER: return "invalid buffer pointer, or an attached buffer that is too small";
    case MPI_ERR_COUNT: return "invalid count";
    case MPI_ERR_TYPE: return "invalid datatype";
    case MPI_ERR_TAG: return "invalid tag";
    case MPI_ERR_COMM: return "invalid communicator";
    case MPI_ERR_RANK: return "invalid rank";
    case MPI_ERR_ROOT: return "invalid root";
    case MPI_ERR_GROUP: return "invalid group";
    case MPI_ERR_OP: return "invalid reduction operation";
    case MPI_ERR_TOPOLOGY: return "invalid topology";
    case MPI_ERR_DIMS: return "invalid dimensions";
    case MPI_ERR_ARG: return "invalid argument";
    case MPI_ERR_UNKNOWN: return "unknown error";
    case MPI_ERR_TRUNCATE: return "message is longer than the receive buffer";
    case MPI_ERR_OTHER: return "other error";
    case MPI_ERR_INTERN: return "internal error of the MPI library";
    case MPI_ERR_IN_STATUS: return "the error codes are in the statuses";
    case MPI_ERR_PENDING: return "the operation is still under way";
    case MPI_ERR_REQUEST: return "invalid request";
    case MPI_ERR_ACCESS: return "permission denied";
    case MPI_ERR_AMODE: return "invalid access mode";
    case MPI_ERR_BAD_FILE: return "invalid file name";
    case MPI_ERR_CONVERSION: return "a data conversion function failed";
    case MPI_ERR_DUP_DATAREP: return "this data representation is defined already";
    case MPI_ERR_FILE_EXISTS: return "the file exists";
    case MPI_ERR_FILE_IN_USE: return "the file is in use";
    case MPI_ERR_FILE: return "invalid file handle";
    case MPI_ERR_INFO: return "invalid info object";
    case MPI_ERR_INFO_KEY: return "invalid info key";
    case MPI_ERR_INFO_VALUE: return "invalid info value";
    case MPI_ERR_INFO_NOKEY: return "the info object has no such key";
    case MPI_ERR_IO: return "input or output failed";
    case MPI_ERR_NAME: return "no service is published under this name";
    case MPI_ERR_NO_MEM: return "out of memory";
    case MPI_ERR_NOT_SAME: return "the processes passed different arguments";
    case MPI_ERR_NO_SPACE: return "no space left on the device";
    case MPI_ERR_NO_SUCH_FILE: return "no such file";
    case MPI_ERR_PORT: return "invalid port name";
    case MPI_ERR_QUOTA: return "quota exceeded";
    case MPI_ERR_READ_ONLY: return "the file or file system is read-only";
    case MPI_ERR_SERVICE: return "invalid service name";
    case MPI_ERR_SPAWN: return "processes could not be started";
    case MPI_ERR_UNSUPPORTED_DATAREP: return "unsupported data representation";
    case MPI_ERR_UNSUPPORTED_OPERATION: return "unsupported operation";
    case MPI_ERR_WIN: return "invalid window";
    case MPI_ERR_BASE: return "invalid base address";
    case MPI_ERR_LOCKTYPE: return "invalid lock type";
    case MPI_ERR_KEYVAL: return "invalid keyval";
    case MPI_ERR_RMA_CONFLICT: return "conflicting accesses to a window";
    case MPI_ERR_RMA_SYNC: return "wrong synchronisation of one-sided operations";
    case MPI_ERR_SIZE: return "invalid size";
    case MPI_ERR_DISP: return "invalid displacement";
    case MPI_ERR_ASSERT: return "invalid assertion";
    case MPI_ERR_RMA_RANGE: return "the target memory is not in the window";
    case MPI_ERR_RMA_ATTACH: return "the memory cannot be attached";
    case MPI_ERR_RMA_SHARED: return "the memory cannot be shared";
    case MPI_ERR_RMA_FLAVOR: return "the window has the wrong flavour";
    case MPI_T_ERR_MEMORY: return "tools interface: out of memory";
    case MPI_T_ERR_NOT_INITIALIZED: return "tools interface: not initialised";
    case MPI_T_ERR_CANNOT_INIT: return "tools interface: cannot be initialised";
    case MPI_T_ERR_INVALID_INDEX: return "tools interface: invalid index";
    case MPI_T_ERR_INVALID_ITEM: return "tools interface: invalid item";
    case MPI_T_ERR_INVALID_HANDLE: return "tools interface: invalid handle";
    case MPI_T_ERR_OUT_OF_HANDLES: return "tools interface: out of handles";
    case MPI_T_ERR_OUT_OF_SESSIONS: return "tools interface: out of sessions";
    case MPI_T_ERR_INVALID_SESSION: return "tools interface: invalid session";
    case MPI_T_ERR_CVAR_SET_NOT_NOW: return "tools interface: the variable cannot be set now";
    case MPI_T_ERR_CVAR_SET_NEVER: return "tools interface: the variable can never be set";
    case MPI_T_ERR_PVAR_NO_STARTSTOP: return "tools interface: the variable cannot be started or stopped";
    case MPI_T_ERR_PVAR_NO_WRITE: return "tools interface: the variable cannot be written";
    case MPI_T_ERR_PVAR_NO_ATOMIC: return "tools interface: the variable cannot be read and reset at once";
    case MPI_T_ERR_INVALID_NAME: return "tools interface: invalid name";
    case MPI_T_ERR_INVALID: return "tools interface: invalid use";
    case MPI_T_ERR_NOT_SUPPORTED: return "tools interface: not supported";
    case MPI_ERR_SESSION: return "invalid session";
    case MPI_ERR_PROC_ABORTED: return "a process has aborted";
    case MPI_ERR_VALUE_TOO_LARGE: return "the value does not fit the type of the result";
    case MPIX_ERR_PROC_FAILED: return "a process has failed";
    case MPIX_ERR_PROC_FAILED_PENDING: return "a process has failed; the operation is still under way";
    case MPIX_ERR_REVOKED: return "the communicator has been revoked";
    case MPIX_ERR_EAGAIN: return "try again";
    case MPIX_ERR_NOREQ: return "no request can be had";
    default: return nullptr;
  }
}

Added* find_added(Codes& all, int code) {
  const auto index = static_cast<std::size_t>(code - kFirstAdded);
  return code >= kFirstAdded && index < all.added.size() ? &all.added[index] : nullptr;
}

int add(int class_code) {
  Codes& all = codes();
  const std::scoped_lock lock(all.mutex);
  const int code = kFirstAdded + static_cast<int>(all.added.size());
  all.added.push_back({class_code < 0 ? code : class_code, {}});
  return code;
}

}  // namespace

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
  const Added* a = find_added(all, code);
  return a ? a->class_code : -1;
}

std::string text_of_code(int code) {
  Codes& all = codes();
  const std::scoped_lock lock(all.mutex);
  if (const Added* a = find_added(all, code)) return a->text;
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

int error_class_of(Errc e) {
  switch (e) {
    case Errc::ok: return MPI_SUCCESS;
    case Errc::truncate: return MPI_ERR_TRUNCATE;
    case Errc::no_memory: return MPI_ERR_NO_MEM;
    case Errc::peer_lost: return MPIX_ERR_PROC_FAILED;
    case Errc::protocol: return MPI_ERR_INTERN;
    case Errc::argument: return MPI_ERR_ARG;
    case Errc::buffer: return MPI_ERR_BUFFER;
    case Errc::config:
    case Errc::system:
    case Errc::not_ready: return MPI_ERR_OTHER;
  }
  return MPI_ERR_INTERN;
}

// ---- MPI ----

RMQ_MPI(int, Error_class, (int errorcode, int* errorclass)) {
  return enter_always([&] {
    const int c = class_of_code(errorcode);
    if (c < 0) fail_call(MPI_ERR_ARG, fmt::format("argument errorcode is no error code: {}", errorcode));
    *out(errorclass, "errorclass") = c;
  });
}

RMQ_MPI(int, Error_string, (int errorcode, char* string, int* resultlen)) {
  return enter_always([&] {
    if (class_of_code(errorcode) < 0) {
      fail_call(MPI_ERR_ARG, fmt::format("argument errorcode is no error code: {}", errorcode));
    }
    out_text(out(string, "string"), MPI_MAX_ERROR_STRING, out(resultlen, "resultlen"), text_of_code(errorcode));
  });
}

RMQ_MPI(int, Add_error_class, (int* errorclass)) {
  return enter_always([&] { *out(errorclass, "errorclass") = add(-1); });
}

RMQ_MPI(int, Add_error_code, (int errorclass, int* errorcode)) {
  return enter_always([&] {
    if (errorclass < 0 || class_of_code(errorclass) != errorclass) {
      fail_call(MPI_ERR_ARG, fmt::format("argument errorclass is no error class: {}", errorclass));
    }
    *out(errorcode, "errorcode") = add(errorclass);
  });
}

RMQ_MPI(int, Add_error_string, (int errorcode, const char* string)) {
  return enter_always([&] {
    const std::size_t length = std::strlen(out(string, "string"));
    if (length >= MPI_MAX_ERROR_STRING) fail_call(MPI_ERR_ARG, "argument string is longer than MPI_MAX_ERROR_STRING");
    Codes& all = codes();
    const std::scoped_lock lock(all.mutex);
    Added* a = find_added(all, errorcode);
    if (!a) fail_call(MPI_ERR_ARG, fmt::format("argument errorcode was not added by the program: {}", errorcode));
    a->text.assign(string, length);
  });
}

}  // namespace rmq::mpi

// SPDX-License-Identifier: BSD-3-Clause
// PMIx as a client speaks it, through the system's libpmix: the protocol between it and the launcher's daemon is the
// library's own business. It is opened when a process is known to run under a PMIx launcher, and by name, so that no
// other program ever loads it. The few types below are those of the PMIx Standard, versions 3 and 4, as all of
// libpmix.so.2 has them; tests/launch/pmi_test.cpp compares them with the installed header.
#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <thread>

#include "base/os/no_signals.hpp"
#include "start/pmi.hpp"
#include "start/pmix_abi.hpp"

namespace rmq::pmi {

namespace {

using namespace pmix;

constexpr const char* key = "rmq.start";

struct Functions {
  int (*init)(Proc*, Info*, std::size_t) = nullptr;
  int (*finalize)(const Info*, std::size_t) = nullptr;
  int (*abort)(int, const char*, Proc*, std::size_t) = nullptr;
  int (*put)(std::uint8_t, const char*, Value*) = nullptr;
  int (*commit)() = nullptr;
  int (*get)(const Proc*, const char*, const Info*, std::size_t, Value**) = nullptr;
  const char* (*error_string)(int) = nullptr;

  bool find_in(void* library) {
    return find(library, "PMIx_Init", init) && find(library, "PMIx_Finalize", finalize) &&
           find(library, "PMIx_Abort", abort) && find(library, "PMIx_Put", put) &&
           find(library, "PMIx_Commit", commit) && find(library, "PMIx_Get", get) &&
           find(library, "PMIx_Error_string", error_string);
  }

 private:
  template <class F>
  static bool find(void* library, const char* name, F& function) {
    function = reinterpret_cast<F>(::dlsym(library, name));
    return function != nullptr;
  }
};

class Pmix final : public Launcher {
 public:
  explicit Pmix(const Functions& pmix) : pmix_(pmix) {}

  const char* name() const override { return "a PMIx launcher"; }

  Result<void> start() {
    {
      const os::NoSignals none;  // for the library's thread, which lives until finalize
      if (const int rc = pmix_.init(&me_, nullptr, 0); rc != 0) return refused("PMIx_Init", rc);
    }
    const auto size = job_number("pmix.job.size");
    if (!size) return tl::make_unexpected(size.error());
    if (*size > INT32_MAX || me_.rank >= *size)
      return fail(Errc::protocol, fmt::format("the launcher says that this is rank {} of {}", me_.rank, *size));
    place_.rank = static_cast<int>(me_.rank);
    place_.size = static_cast<int>(*size);
    place_.app_num = static_cast<int>(number(me_, "pmix.appnum").value_or(0));
    place_.universe_size = std::max(place_.size, static_cast<int>(job_number("pmix.univ.size").value_or(0)));
    return {};
  }

  // No fence: a get waits until the value is there, wherever rank 0 is. But a server (Open MPI 4.1 has such a one) that
  // is asked just when rank 0 makes itself known to it says that there is none; so it is asked again.
  Result<std::string> spread(const std::string& value) override {
    if (place_.rank == 0) {
      std::string copy = value;
      Value text{};
      text.type = type_string;
      text.data.string = copy.data();
      int rc = pmix_.put(scope_global, key, &text);
      if (rc == 0) rc = pmix_.commit();
      if (rc != 0) return refused("PMIx_Put", rc);
      return value;
    }
    Proc first = me_;
    first.rank = 0;
    Value* got = nullptr;
    int rc = 0;
    while ((rc = pmix_.get(&first, key, nullptr, 0, &got)) == error_not_found)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (rc != 0 || got == nullptr) return refused("PMIx_Get", rc);
    std::string out = got->type == type_string && got->data.string != nullptr ? got->data.string : "";
    if (got->type == type_string) std::free(got->data.string);
    std::free(got);
    return out;
  }

  void abort(int code, const std::string& why) override { pmix_.abort(code, why.c_str(), nullptr, 0); }

  Result<void> finalize() override {
    if (const int rc = pmix_.finalize(nullptr, 0); rc != 0) return refused("PMIx_Finalize", rc);
    return {};
  }

 private:
  tl::unexpected<Error> refused(const char* call, int rc) const {
    return fail(Errc::system, fmt::format("{} failed: {}; start the program with 'mpiexec -n N rmqboot ./prog' or "
                                          "'rmqrun -n N ./prog' instead",
                                          call, pmix_.error_string(rc)));
  }

  Result<std::uint32_t> number(const Proc& of, const char* what) {
    Value* got = nullptr;
    if (const int rc = pmix_.get(&of, what, nullptr, 0, &got); rc != 0 || got == nullptr)
      return refused(fmt::format("PMIx_Get of {}", what).c_str(), rc);
    const Value value = *got;
    std::free(got);
    if (value.type != type_uint32) return fail(Errc::protocol, fmt::format("{} is no number to PMIx", what));
    return value.data.uint32;
  }

  Result<std::uint32_t> job_number(const char* what) {
    Proc all = me_;
    all.rank = rank_wildcard;
    return number(all, what);
  }

  const Functions pmix_;
  Proc me_{};
};

}  // namespace

Result<std::unique_ptr<Launcher>> meet_pmix(const char* library) {
  // Never closed: it has a thread, and handlers for the end of the program.
  void* const handle = ::dlopen(library, RTLD_NOW | RTLD_LOCAL);
  Functions functions;
  if (handle == nullptr || !functions.find_in(handle))
    return fail(
        Errc::config,
        fmt::format("the launcher of this process speaks PMIx, for which {} is missing here (Debian: libpmix2); "
                    "install it, or start the program with 'mpiexec -n N rmqboot ./prog'",
                    library));
  auto pmix = std::make_unique<Pmix>(functions);
  if (auto started = pmix->start(); !started) return tl::make_unexpected(started.error());
  return pmix;
}

}  // namespace rmq::pmi

// SPDX-License-Identifier: BSD-3-Clause
// What a rank tells about itself when somebody asks (rmqps, rmqrun --hang-after): how callers of the device say what
// they wait for. design/diagnosis.md has the whole; the text is made in adi/reporting.cpp.
#pragma once

#include <cstdint>

#include "base/packet/request.hpp"
#include "base/record/report_text.hpp"

namespace rmq::adi {

/// What a waiting call waits for. Two words, passed in registers to each poll and looked at only when somebody asks:
/// then `tell` adds one object, or several, to the list that the text is in. With the device held; allocates nothing.
struct Awaited {
  void (*tell)(const void* object, ReportText& to) = nullptr;  // nullptr: not known
  const void* object = nullptr;                                // lives as long as the poll
};

/// Adds an object for a send or receive that is not complete.
void tell_request(const Request& r, ReportText& to);
/// As Awaited::tell: of a wait that is over when the request is complete, or when some message of a pattern (a Match)
/// has been kept. Who wakes threads knows these two.
void tell_awaited_request(const void* request, ReportText& to);
void tell_awaited_probe(const void* pattern, ReportText& to);
inline Awaited awaited(const Request* r) {
  return {&tell_awaited_request, r};
}
inline Awaited awaited(const Match& pattern) {
  return {&tell_awaited_probe, &pattern};
}

/// What a call waits for beside what has been told.
inline void tell_more(int number, ReportText& to) {
  to.begin_object();
  to.field("kind", "more");
  to.field("number", number);
  to.end_object();
}

/// A wait for another job: for a root of it that has not come yet.
inline void tell_other_job(const void*, ReportText& to) {
  to.begin_object();
  to.field("kind", "job");
  to.end_object();
}

/// What a rank is doing at the moment it is asked.
enum class Doing : std::uint8_t {
  outside,   // of MPI: the program's own work
  callback,  // a function of the program that MPI has called
  busy,      // inside of MPI, and not waiting
  testing,   // in calls that do not wait, and find nothing
  waiting,
};

}  // namespace rmq::adi

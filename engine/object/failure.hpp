// How a call that cannot be carried out ends: a Failure flies from the check that finds it to the frame of the MPI
// function (call.hpp), which lets go of the device and hands it to the error handler. Exceptions are used for
// nothing else, and none crosses the device: with some 600 functions of six arguments, checks that cost one word each
// where they are written and no branch where they pass are worth it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "engine/include/rmq_mpi_types.h"

namespace rmq::adi {
class Device;
}  // namespace rmq::adi

namespace rmq {
struct Request;
}  // namespace rmq

namespace rmq::mpi {

struct Comm;
struct Errhandler;

struct Failure {
  int code = MPI_ERR_OTHER;  // MPI error class; or a code that a user's callback returned, then without `what`
  std::string what;          // one line that names the argument, without the function's name; empty: the class says all
  int object = MPI_COMM_NULL;  // communicator or window whose error handler is meant; null: that of the call's
  int cause = MPI_SUCCESS;     // behind MPI_ERR_IN_STATUS: class or code of the first request's failure
  std::shared_ptr<const Errhandler> handler = nullptr;  // of an object whose handle has been freed; null: `object` says
  bool is_known = false;  // to all members already, or is going to be: they wait for nothing that ends with it
};

[[noreturn]] void fail_call(int error_class, std::string what);

/// The MPI error class of a failure below; MPI_SUCCESS for Errc::ok.
int error_class_of(Errc e);

/// An error code of this class that MPI_Error_string explains with `text`, as long as it is among the latest.
int make_error_code(int error_class, std::string_view text);
/// What MPI_Error_class and MPI_Error_string answer; empty or negative for what is no code.
int class_of_code(int code);
std::string text_of_code(int code);
/// Value of the attribute MPI_LASTUSEDCODE.
int last_used_code();

/// "world rank 3 is lost: …"
std::string lost_text(int world_rank);
/// MPIX_ERR_PROC_FAILED; MPI_ERR_NO_MEM where this rank has too little memory to reach it.
int lost_class(int world_rank);
/// A message that fails because its other end is lost ends the job at once where its communicator's, or window's,
/// errors are fatal: the call that would tell of it may never come, as the rank waits for others, who wait for that
/// message. DeviceOptions::minds and ::on_lost, with the device held:
bool is_fatal(const Request& message);
void end_for_loss(adi::Device& device, int lost_world_rank);

/// The handler for failures of messages of this communicator whose handle has been freed; null while it has not.
std::shared_ptr<const Errhandler> handler_of_freed(const Comm& comm);

/// Calls the error handler of the communicator or window (null or dead: of MPI_COMM_SELF) and returns what the function
/// returns. The device must not be held: the handler may call MPI.
int raise_error(int object, const char* function, const Failure& failure);
/// The same for a function on files.
int raise_file_error(const char* function, const Failure& failure);
/// The same with this handler, whose object is `object`. Also while MPI is not active.
int raise_to(const Errhandler& handler, int object, const char* function, const Failure& failure);

}  // namespace rmq::mpi

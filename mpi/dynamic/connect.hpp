// SPDX-License-Identifier: BSD-3-Clause
// Ports, and the way from one to a communicator: what MPI_Comm_accept, MPI_Comm_connect, MPI_Comm_join and
// MPI_Comm_spawn have in common. Everything here needs the device held.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "engine/comm/comms.hpp"
#include "start/line.hpp"

namespace rmq::mpi {

/// The ports of this process, by name. Who waits at one keeps it; nobody comes there any more once it is closed.
std::shared_ptr<Port> open_port(Port::Callers callers);
std::shared_ptr<Port> find_port(std::string_view name);
void close_port(std::string_view name);

/// What the root does, whose failure is everybody's: the others learn its error class. Throws Failure at all.
void at_root(Comm& c, int root, const std::function<void()>& what);

using Limit = std::optional<std::chrono::steady_clock::time_point>;
/// The info key `timeout`, in seconds.
Limit limit_of(const Info* info);
/// The same for a call: two minutes where the key is not there.
Limit limit_of_call(const Info* info);

/// A caller of the port. Throws MPI_ERR_PORT when nobody has come in time. `failed`: looked at meanwhile; may throw.
std::unique_ptr<Line> await_caller(Port& port, const Limit& limit, const std::function<void()>& failed = {});
/// The line to a port, once somebody accepts there. Throws MPI_ERR_PORT. `key`: of a name that has none.
std::unique_ptr<Line> call_port(std::string_view name, const Limit& limit, const Secret* key = nullptr,
                                const std::function<void()>& failed = {});

/// An inter-communicator of `c` with the group that the root's line leads to, which `find` gets there; collective over
/// both. `find` is called at all members, with a communicator like `c`.
MPI_Comm connect_by(Comm& c, int root, const std::function<std::unique_ptr<Line>(Comm& own)>& find);

}  // namespace rmq::mpi

// SPDX-License-Identifier: BSD-3-Clause
// Chapter 11.9.4: names for ports. The launcher keeps them: for all of its jobs, and for others of the same user on its
// host (tools/launch/names.hpp).
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/record/byte_text.hpp"
#include "engine/life/life.hpp"
#include "engine/worlds/wish.hpp"
#include "mpi/define.hpp"

namespace rmq::mpi {
namespace {

nlohmann::json named(const char* service, const char* port) {
  nlohmann::json wish{{"service", as_text(out(service, "service_name"))}};
  if (port) wish["port"] = as_text(port);
  return wish;
}

void check(const nlohmann::json& answer, int error_class) {
  if (answer.contains("error")) fail_call(error_class, answer["error"].get<std::string>());
}

}  // namespace

RMQ_MPI(int, Publish_name, (const char* service_name, MPI_Info info, const char* port_name)) {
  return enter([&] {
    optional_info_arg(info);
    check(ask_launcher("publish", named(service_name, out(port_name, "port_name"))), MPI_ERR_SERVICE);
  });
}

RMQ_MPI(int, Unpublish_name, (const char* service_name, MPI_Info info, const char* port_name)) {
  return enter([&] {
    optional_info_arg(info);
    check(ask_launcher("unpublish", named(service_name, port_name)), MPI_ERR_SERVICE);
  });
}

RMQ_MPI(int, Lookup_name, (const char* service_name, MPI_Info info, char* port_name)) {
  return enter([&] {
    optional_info_arg(info);
    out(port_name, "port_name");
    const auto answer = ask_launcher("lookup", named(service_name, nullptr));
    check(answer, MPI_ERR_NAME);
    const std::string name = as_bytes(answer.value("port", ""));
    port_name[name.copy(port_name, MPI_MAX_PORT_NAME - 1)] = '\0';
  });
}

}  // namespace rmq::mpi

// SPDX-License-Identifier: BSD-3-Clause
// The door of the plug-in rmq_method_tcp.so. Not part of the static library.
#include "methods/contract.hpp"
#include "tcp/method.hpp"

RMQ_METHOD_PLUGIN(::rmq::tcp::make_tcp)

// SPDX-License-Identifier: BSD-3-Clause
// The plug-in: the same method as a shared object that the device loads by name.
#include "methods/contract.hpp"
#include "shm/method.hpp"

RMQ_METHOD_PLUGIN(rmq::shm::make_shm)

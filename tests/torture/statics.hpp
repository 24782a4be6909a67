// SPDX-License-Identifier: BSD-3-Clause
// Static memory of six libraries (data.cpp, compiled once for each). OpenSHMEM programs have several: together with the
// heap and the program's own these are more than PEs of one host reach directly.
#pragma once

#include <cstddef>

constexpr std::size_t kStaticWords = 20480;

extern "C" {
int *torture_data_1(), *torture_data_2(), *torture_data_3(), *torture_data_4(), *torture_data_5(), *torture_data_6();
}

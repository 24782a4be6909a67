# SPDX-License-Identifier: BSD-3-Clause
# cmake -DROOT=<sources> -P check_version.cmake: CHANGELOG.md and CITATION.cff speak of the version that mpi.h has.

cmake_minimum_required(VERSION 3.25)

# first_in(<file> <regex with one group> <result>): the group of the first line that fits.
function(first_in file regex result)
  file(STRINGS ${ROOT}/${file} lines REGEX "${regex}")
  if(NOT lines)
    message(FATAL_ERROR "${file}: no line fits '${regex}'")
  endif()
  list(GET lines 0 line)
  string(REGEX REPLACE "${regex}" "\\1" version "${line}")
  set(${result} ${version} PARENT_SCOPE)
endfunction()

first_in(mpi/include/mpi.h "^#define RMQ_VERSION \"([0-9.]+)\"$" version)
first_in(CITATION.cff "^version: ([0-9.]+)$" cited)
first_in(CHANGELOG.md "^## ([0-9.]+)$" described)
foreach(other cited described)
  if(NOT ${other} STREQUAL version)
    message(FATAL_ERROR "mpi.h has version ${version}, CITATION.cff ${cited}, and CHANGELOG.md begins with ${described}")
  endif()
endforeach()
message(STATUS "check_version: all say ${version}")

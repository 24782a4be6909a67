# SPDX-License-Identifier: BSD-3-Clause
# Fails on an include that runs up a floor (the floors are those of design/code-map.md), or up the folders of one.
#
#   cmake -DROOT=<source folder> -P check_includes.cmake          checks the tree
#   cmake -DSELF_TEST=<scratch folder> -P check_includes.cmake    checks the checker on planted violations
#
# It reads `#include` lines only: what the preprocessor would skip is checked too. tests/ and examples/ are free.

cmake_minimum_required(VERSION 3.25)

# What a file of each floor may include, by the first folder of the path.
set(may_base base)
set(may_start base start)
set(may_methods base start methods)
# The methods, side by side.
file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/../methods/methods.def methods REGEX "^RMQ_METHOD[(]")
list(TRANSFORM methods REPLACE "RMQ_METHOD[(]([a-z]+),.*" "\\1")
foreach(method ${methods})
  set(may_${method} base start methods ${method})
endforeach()
set(may_adi base start methods adi)
set(may_rma base start methods adi rma)
set(may_engine base start methods adi rma engine)
set(may_mpi base start methods adi rma engine mpi)
set(may_shmem base start methods adi rma engine shmem)
set(may_armci base start methods adi rma engine armci)
set(may_tools base start methods ${methods} adi rma engine mpi shmem armci tools)
set(floors base start methods ${methods} adi rma engine mpi shmem armci tools)
# What a file of a folder of rma/ may include of the folders there.
set(folders_rma memory packet core origin target epoch window queue am)
set(may_rma_memory memory)
set(may_rma_packet packet)
set(may_rma_core memory packet core)
set(may_rma_origin memory packet core origin)
set(may_rma_target memory packet core origin target)
set(may_rma_epoch memory packet core origin target epoch)
set(may_rma_window memory packet core origin target epoch window)
set(may_rma_queue packet queue)
set(may_rma_am packet am)
# The same of engine/, where each folder stands on those before it.
set(folders_engine include ft object call message comm coll window worlds life face)
set(below)
foreach(folder ${folders_engine})
  list(APPEND below ${folder})
  set(may_engine_${folder} ${below})
endforeach()
# The only files that name the concrete methods: one makes them, one switches between them.
set(may_adi_makers.cpp base start methods ${methods} adi)
set(may_adi_dispatch.hpp base start methods ${methods} adi)
# What programs see, who always have mpi.h with it.
set(may_armci_include_armci.h base start methods adi rma engine mpi armci)

# Appends to `result` a line if `file` may not include `path`, which is in `folder` of the floor of both.
function(check_folder file path folder result)
  string(REGEX MATCH "^([^/]+)/([^/]+)" own ${file})
  set(may ${may_${CMAKE_MATCH_1}_${CMAKE_MATCH_2}})
  if(NOT folder IN_LIST may)
    list(JOIN may " " may_text)
    set(${result} ${${result}} "${file}: \"${path}\": of its floor it may include only ${may_text}" PARENT_SCOPE)
  endif()
endfunction()

# Appends to `result` one line for each include of `file` (path below `root`) that it may not have.
function(check_file root file result)
  set(found ${${result}})
  string(REGEX MATCH "^[^/]+" floor ${file})
  set(may ${may_${floor}})
  string(REPLACE "/" "_" exception ${file})
  if(DEFINED may_${exception})
    set(may ${may_${exception}})
  endif()
  file(STRINGS ${root}/${file} lines REGEX "^[ \t]*#[ \t]*include[ \t]*[<\"]")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "^[ \t]*#[ \t]*include[ \t]*[<\"]([^>\"]+)[>\"].*" "\\1" path "${line}")
    if(path MATCHES "\\.\\./")
      list(APPEND found "${file}: \"${path}\": write the path from the source folder, so that its floor can be seen")
      continue()
    endif()
    if(path STREQUAL "mpi.h" OR path MATCHES "^rmq_mpi_functions(_newer)?[.]inc$")
      set(path mpi/include/${path})
    endif()
    string(REGEX MATCH "^[^/]+/" target "${path}")
    string(REPLACE "/" "" target "${target}")
    if(target IN_LIST floors AND NOT target IN_LIST may)
      list(JOIN may " " may_text)
      list(APPEND found "${file}: \"${path}\": it may include only ${may_text}")
    elseif(DEFINED folders_${floor} AND path MATCHES "^${floor}/([^/]+)/")
      check_folder(${file} "${path}" ${CMAKE_MATCH_1} found)
    endif()
  endforeach()
  set(${result} ${found} PARENT_SCOPE)
endfunction()

function(check_tree root result)
  set(found)
  foreach(floor ${floors})
    if(NOT IS_ABSOLUTE ${root})
      message(FATAL_ERROR "${root} is no absolute path: no file would be found")
    endif()
    file(GLOB_RECURSE files RELATIVE ${root} ${root}/${floor}/*.hpp ${root}/${floor}/*.cpp ${root}/${floor}/*.h
      ${root}/${floor}/*.c ${root}/${floor}/*.def ${root}/${floor}/*.inc)
    foreach(file ${files})
      check_file(${root} ${file} found)
    endforeach()
  endforeach()
  set(${result} ${found} PARENT_SCOPE)
endfunction()

function(self_test root)
  file(REMOVE_RECURSE ${root})
  # file, include line, 1 when it is a violation
  set(cases
    "base/up.hpp|#include \"methods/method.hpp\"|1"
    "base/os/deep.cpp|  #  include <adi/device.hpp>  // far up|1"
    "base/record/up.cpp|#include \"start/line.hpp\"|1"
    "start/up.cpp|#include \"methods/method.hpp\"|1"
    "methods/up.hpp|#include \"shm/ring.hpp\"|1"
    "shm/sideways.cpp|#include \"tcp/link.hpp\"|1"
    "tcp/up.cpp|#include \"adi/device.hpp\"|1"
    "adi/names_a_method.cpp|#include \"tcp/tcp.hpp\"|1"
    "rma/names_a_method.hpp|#include \"shm/shm.hpp\"|1"
    "adi/up.h|#include <mpi.h>|1"
    "mpi/sideways.cpp|#include \"shmem/shmem.hpp\"|1"
    "armci/sideways.cpp|#include \"shmem/world.hpp\"|1"
    "shm/dodges.cpp|#include \"../tcp/link.hpp\"|1"
    "adi/makers.cpp|#include \"tcp/tcp.hpp\"|0"
    "adi/dispatch.hpp|#include \"shm/shm.hpp\"|0"
    "adi/down.cpp|#include \"base/packet/packet.hpp\"|0"
    "base/system.cpp|#include <sys/uio.h>|0"
    "base/beside.cpp|#include \"layout_node.hpp\"|0"
    "shmem/face.cpp|#include \"engine/coll/coll.hpp\"|0"
    "shmem/up.cpp|#include \"mpi/define.hpp\"|1"
    "engine/up.cpp|#include <mpi.h>|1"
    "engine/object/up.hpp|#include \"engine/call/call.hpp\"|1"
    "engine/nowhere/up.cpp|#include \"engine/object/objects.hpp\"|1"
    "engine/object/to_nowhere.cpp|#include \"engine/nowhere/new.hpp\"|1"
    "engine/coll/down.cpp|#include \"engine/call/call.hpp\"|0"
    "engine/coll/beside.cpp|#include \"engine/coll/steps.hpp\"|0"
    "rma/up.cpp|#include \"shmem/world.hpp\"|1"
    "rma/memory/up.hpp|#include \"rma/core/fault.hpp\"|1"
    "rma/target/up.cpp|#include \"rma/epoch/active_target.hpp\"|1"
    "rma/am/sideways.cpp|#include \"rma/queue/queue.hpp\"|1"
    "rma/flat.cpp|#include \"rma/core/fault.hpp\"|1"
    "rma/window/down.cpp|#include \"rma/memory/apply.hpp\"|0"
    "shmem/down.cpp|#include \"rma/window/window.hpp\"|0"
    "mpi/face.cpp|#include <mpi.h>|0"
    "tools/any.cpp|#include \"shm/shm.hpp\"|0"
    "tests/free.cpp|#include \"mpi/handles.hpp\"|0")
  set(expected)
  foreach(case IN LISTS cases)
    string(REPLACE "|" ";" parts "${case}")
    list(GET parts 0 file)
    list(GET parts 1 line)
    list(GET parts 2 bad)
    file(WRITE ${root}/${file} "// planted\n${line}\n")
    if(bad)
      list(APPEND expected ${file})
    endif()
  endforeach()
  check_tree(${root} found)
  set(reported)
  foreach(line IN LISTS found)
    string(REGEX MATCH "^[^:]+" file "${line}")
    list(APPEND reported ${file})
  endforeach()
  list(SORT expected)
  list(SORT reported)
  if(NOT "${expected}" STREQUAL "${reported}")
    message(FATAL_ERROR "check_includes is broken.\n planted:  ${expected}\n reported: ${reported}")
  endif()
  list(LENGTH expected n)
  message(STATUS "check_includes: all ${n} planted violations were found, and nothing else")
endfunction()

if(DEFINED SELF_TEST)
  self_test(${SELF_TEST})
else()
  check_tree(${ROOT} violations)
  if(violations)
    list(JOIN violations "\n  " text)
    message(FATAL_ERROR "includes that run up a floor:\n  ${text}")
  endif()
  message(STATUS "check_includes: no include runs up a floor")
endif()

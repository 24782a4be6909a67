# Fails on an include that runs up a floor (the floors are those of design/code-map.md), or up among the folders of
# engine/.
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
set(may_shm base start methods shm)
set(may_tcp base start methods tcp)
set(may_adi base start methods adi)
set(may_rma base start methods adi rma)
set(may_engine base start methods adi rma engine)
set(may_mpi base start methods adi rma engine mpi)
set(may_shmem base start methods adi rma engine shmem)
set(may_armci base start methods adi rma engine armci)
set(may_tools base start methods shm tcp adi rma engine mpi shmem armci tools)
set(floors base start methods shm tcp adi rma engine mpi shmem armci tools)
# The folders of engine/: a file includes its own and those before it.
set(engine_folders include ft object call message comm coll window worlds life face)
# The only files that name the concrete methods: one makes them, one switches between them.
set(may_adi_boot.cpp base start methods shm tcp adi)
set(may_adi_dispatch.hpp base start methods shm tcp adi)
# What programs see, who always have mpi.h with it.
set(may_armci_include_armci.h base start methods adi rma engine mpi armci)

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
    endif()
    if(floor STREQUAL "engine" AND target STREQUAL "engine")
      place_in_engine(${file} mine)
      place_in_engine(${path} theirs)
      if(mine LESS theirs OR theirs LESS 0)
        list(JOIN engine_folders " < " order)
        list(APPEND found "${file}: \"${path}\": the order in engine/ is ${order}")
      endif()
    endif()
  endforeach()
  set(${result} ${found} PARENT_SCOPE)
endfunction()

# The place of a file's folder among those of engine/; -1: it has none.
function(place_in_engine path place)
  set(${place} -1 PARENT_SCOPE)
  if(path MATCHES "^engine/([^/]+)/")
    list(FIND engine_folders ${CMAKE_MATCH_1} found)
    set(${place} ${found} PARENT_SCOPE)
  endif()
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
    "adi/boot.cpp|#include \"tcp/tcp.hpp\"|0"
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

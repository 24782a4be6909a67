# SPDX-License-Identifier: BSD-3-Clause
# rmqrun, rmqboot and its helpers; included from tools/CMakeLists.txt.

set(RMQ_BIN_DIR ${CMAKE_BINARY_DIR}/bin)
set(RMQ_LIBEXEC_DIR ${CMAKE_BINARY_DIR}/libexec/rmq)

# Children, descriptors, signals, the event loop: for launchers, rmqperf and the tests that start processes.
add_library(rmq_process STATIC process/fd.cpp process/acceptor.cpp process/elf.cpp process/loop.cpp process/printable.cpp
  process/reap.cpp process/spawn.cpp)
target_link_libraries(rmq_process PUBLIC rmq_start)
rmq_unite(rmq_process)

# What hangs, and why: for rmqrun and rmqps.
add_library(rmq_diagnosis STATIC
  diag/collectives.cpp diag/cycles.cpp diag/dormant.cpp diag/job.cpp diag/messages.cpp diag/text.cpp diag/windows.cpp)
target_link_libraries(rmq_diagnosis PUBLIC rmq_base nlohmann_json::nlohmann_json)
rmq_precompile(rmq_diagnosis <nlohmann/json.hpp>)
rmq_unite(rmq_diagnosis)

# What comes from others: frames of ranks, of agents, of strangers at the gate and of programs of MPICH.
add_library(rmq_launch_wire STATIC
  launch/agents.cpp launch/branch.cpp launch/children.cpp launch/line.cpp launch/link.cpp launch/names.cpp launch/pmi.cpp
  launch/server.cpp launch/verdict.cpp boot/address.cpp boot/gate.cpp)
target_link_libraries(rmq_launch_wire PUBLIC rmq_process PRIVATE nlohmann_json::nlohmann_json PkgConfig::SODIUM)

# What is to run where: the words of command lines, host files, allocations and spawns.
add_library(rmq_launch_plan STATIC
  launch/binding.cpp launch/env.cpp launch/help.cpp launch/hostlist.cpp launch/option_table.cpp launch/option_verbs.cpp
  launch/options.cpp launch/placing.cpp launch/plan.cpp launch/soft.cpp launch/spawn_plan.cpp)
target_link_libraries(rmq_launch_plan PUBLIC rmq_launch_wire PRIVATE nlohmann_json::nlohmann_json)

# Who runs it and watches over it.
add_library(rmq_launch STATIC
  diag/control.cpp diag/inquiry.cpp diag/watch.cpp
  launch/aborts.cpp launch/agent.cpp launch/agent_job.cpp launch/bonds.cpp launch/debug.cpp launch/flight.cpp launch/front.cpp
  launch/job.cpp launch/job_agents.cpp launch/keeper.cpp launch/keeper_ends.cpp launch/local.cpp launch/open_files.cpp launch/output.cpp launch/remote.cpp
  launch/report.cpp launch/wishes.cpp boot/minder.cpp boot/server.cpp)
target_link_libraries(rmq_launch PUBLIC rmq_launch_plan rmq_diagnosis rmq_trace_text PRIVATE PkgConfig::SODIUM)
foreach(library rmq_launch_wire rmq_launch_plan rmq_launch)
  rmq_precompile_as(${library} rmq_diagnosis)
  rmq_unite(${library})
endforeach()

add_executable(rmqrun rmqrun.cpp)
add_executable(rmqboot rmqboot.cpp)
foreach(tool rmqrun rmqboot)
  target_link_libraries(${tool} PRIVATE rmq_launch)
  set_target_properties(${tool} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${RMQ_BIN_DIR})
endforeach()
# Loading a second copy of libstdc++ costs every start half a millisecond.
if(NOT CMAKE_CXX_FLAGS MATCHES "fsanitize")
  target_link_options(rmqrun PRIVATE -static-libstdc++ -static-libgcc -Wl,--as-needed)
endif()
add_custom_command(TARGET rmqrun POST_BUILD
  COMMAND ${CMAKE_COMMAND} -E create_symlink rmqrun mpiexec
  COMMAND ${CMAKE_COMMAND} -E create_symlink rmqrun mpirun
  COMMAND ${CMAKE_COMMAND} -E create_symlink rmqrun oshrun
  WORKING_DIRECTORY ${RMQ_BIN_DIR} VERBATIM)
install(TARGETS rmqrun rmqboot RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES ${RMQ_BIN_DIR}/mpiexec ${RMQ_BIN_DIR}/mpirun ${RMQ_BIN_DIR}/oshrun DESTINATION ${CMAKE_INSTALL_BINDIR})

# rmq_boot_helper(<name> <variable> <wrapper compiler>): the half of rmqboot that speaks one host MPI. Left out, with a
# note, where that MPI is not installed; rmqboot then says so when it would need it.
function(rmq_boot_helper name variable)
  find_program(${variable} NAMES ${ARGN} DOC "Compiler wrapper of the MPI for ${name}")
  if(NOT ${variable})
    message(STATUS "${name}: not built (no ${ARGN}; set ${variable})")
    return()
  endif()
  execute_process(COMMAND ${${variable}} -show OUTPUT_VARIABLE line RESULT_VARIABLE failed OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(failed)
    message(STATUS "${name}: not built (${${variable}} -show failed)")
    return()
  endif()
  separate_arguments(words UNIX_COMMAND "${line}")
  set(includes ${words})
  list(FILTER includes INCLUDE REGEX "^-I")
  list(TRANSFORM includes REPLACE "^-I" "")
  set(links ${words})
  list(FILTER links INCLUDE REGEX "^(-L|-l|-Wl,|-pthread)")
  add_executable(${name} boot/helper.cpp boot/host_mpi.c)
  target_include_directories(${name} SYSTEM PRIVATE ${includes})
  target_link_libraries(${name} PRIVATE rmq_launch ${links})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${RMQ_LIBEXEC_DIR})
  install(TARGETS ${name} RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/rmq)
endfunction()

rmq_boot_helper(rmqboot-mpich RMQ_MPICC_MPICH mpicc.mpich)
rmq_boot_helper(rmqboot-openmpi RMQ_MPICC_OPENMPI mpicc.openmpi)

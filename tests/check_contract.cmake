# SPDX-License-Identifier: BSD-3-Clause
# cmake -DROOT=<sources> -DWORK=<folder> -P check_contract.cmake: the number of the contract with plug-ins changes with what
# a plug-in shares with its host, and with nothing else.

cmake_minimum_required(VERSION 3.25)

function(number_of folder result)
  execute_process(COMMAND ${CMAKE_COMMAND} -DROOT=${folder} -DOUT=${folder}/number -P ${ROOT}/cmake/contract.cmake
                  RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "contract.cmake failed")
  endif()
  file(READ ${folder}/number number)
  set(${result} "${number}" PARENT_SCOPE)
endfunction()

# changed(<file> <regex> <replacement> <what>): the number after this change.
function(changed file from to result)
  file(COPY ${ROOT}/base ${ROOT}/start ${ROOT}/methods DESTINATION ${WORK}/changed)
  file(READ ${WORK}/changed/${file} text)
  string(REGEX REPLACE "${from}" "${to}" after "${text}")
  if(after STREQUAL text)
    message(FATAL_ERROR "${file} has no '${from}' any more")
  endif()
  file(WRITE ${WORK}/changed/${file} "${after}")
  number_of(${WORK}/changed number)
  set(${result} "${number}" PARENT_SCOPE)
  file(REMOVE_RECURSE ${WORK}/changed)
endfunction()

file(REMOVE_RECURSE ${WORK})
file(COPY ${ROOT}/base ${ROOT}/start ${ROOT}/methods DESTINATION ${WORK}/same)
number_of(${WORK}/same same)

changed(methods/method.hpp "virtual int poll\\(" "virtual int look(" number)
if(number STREQUAL same)
  message(FATAL_ERROR "another virtual function keeps the number")
endif()
changed(base/packet/packet.def "RMQ_PACKET_FIELD\\(u64, size" "RMQ_PACKET_FIELD(u32, size" number)
if(number STREQUAL same)
  message(FATAL_ERROR "another field of a packet keeps the number")
endif()
changed(base/packet/request.hpp "std::uint64_t owned_bytes = 0" "std::uint32_t owned_bytes = 0" number)
if(number STREQUAL same)
  message(FATAL_ERROR "another member of a request keeps the number")
endif()
changed(base/packet/request.hpp "// owners: each ends" "//   what is still to happen" number)
if(NOT number STREQUAL same)
  message(FATAL_ERROR "a comment changes the number")
endif()

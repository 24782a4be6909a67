# SPDX-License-Identifier: BSD-3-Clause
# cmake -DROOT=<sources> -DOUT=<file> -P contract.cmake: writes the number of the contract between a device and its methods,
# a hash of all that methods/method.hpp shows: its text and that of every header of ours behind it, without comments and
# white space. The file changes only when the number does.

cmake_minimum_required(VERSION 3.25)

set(seen)
set(text)
function(show header)
  if(header IN_LIST seen)
    return()
  endif()
  list(APPEND seen ${header})
  set(seen ${seen} PARENT_SCOPE)
  file(READ ${ROOT}/${header} lines)
  string(REGEX REPLACE "//[^\n]*" "" lines "${lines}")
  string(REGEX MATCHALL "#include \"[^\"]+\"" includes "${lines}")
  foreach(include IN LISTS includes)
    string(REGEX REPLACE "#include \"([^\"]+)\"" "\\1" include "${include}")
    show(${include})
    set(seen ${seen} PARENT_SCOPE)
  endforeach()
  string(REGEX REPLACE "[ \t\r\n]+" " " lines "${lines}")
  string(APPEND text "${header}: ${lines}\n")
  set(text "${text}" PARENT_SCOPE)
endfunction()
show(methods/method.hpp)

string(SHA256 number "${text}")
string(SUBSTRING ${number} 0 16 number)
set(lines "inline constexpr std::uint64_t kContractText = 0x${number};\n")
if(EXISTS ${OUT})
  file(READ ${OUT} before)
  if(before STREQUAL lines)
    return()
  endif()
endif()
file(WRITE ${OUT} "${lines}")

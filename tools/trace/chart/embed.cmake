# SPDX-License-Identifier: BSD-3-Clause
# cmake -DFROM=<page.html> -DTO=<file> -P embed.cmake: the page, with the scripts beside it that it names put in, as a list of
# C++ integers.
file(READ ${FROM} page)
get_filename_component(folder ${FROM} DIRECTORY)
file(GLOB scripts ${folder}/*.js)
foreach(script ${scripts})
  get_filename_component(name ${script} NAME)
  file(READ ${script} text)
  string(REPLACE "<script src=\"${name}\"></script>" "<script>\n${text}</script>" page "${page}")
endforeach()
string(HEX "${page}" bytes)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "char(0x\\1)," list "${bytes}")
string(REGEX REPLACE ",$" "" list "${list}")
file(WRITE ${TO} "${list}\n")

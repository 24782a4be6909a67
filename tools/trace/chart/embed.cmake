# cmake -DFROM=<file> -DTO=<file> -P embed.cmake: the bytes of a file as a list of C++ integers.
file(READ ${FROM} bytes HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "char(0x\\1)," list "${bytes}")
string(REGEX REPLACE ",$" "" list "${list}")
file(WRITE ${TO} "${list}\n")

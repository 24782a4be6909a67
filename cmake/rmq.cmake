# SPDX-License-Identifier: BSD-3-Clause
# What every target of the project shares.

add_library(rmq_options INTERFACE)
target_include_directories(rmq_options INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(rmq_options INTERFACE
  -Wall -Wextra -Wshadow -Wpointer-arith -Wcast-align -Wundef
  $<$<CXX_COMPILER_ID:GNU>:-fno-tree-slp-vectorize;-Wno-psabi>
  $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor -Woverloaded-virtual -Wold-style-cast>
  $<$<BOOL:${RMQ_WERROR}>:-Werror>)
target_compile_definitions(rmq_options INTERFACE RMQ_VERSION="${PROJECT_VERSION}")

# rmq_precompile(<target> [<header>...]): the headers that cost most of what the target's files cost to compile.
function(rmq_precompile target)
  if(RMQ_PCH)
    target_precompile_headers(${target} PRIVATE <fmt/format.h> <algorithm> <functional> <map> <memory> <string> <vector> ${ARGN})
  endif()
endfunction()

# rmq_precompile_as(<target> <other>): the same headers as another target, which is compiled with the same flags.
function(rmq_precompile_as target other)
  if(RMQ_PCH)
    target_precompile_headers(${target} REUSE_FROM ${other})
  endif()
endfunction()

# rmq_unite(<target> [<number>]): its sources are compiled eight at a time, or so many.
function(rmq_unite target)
  set(number ${ARGN} 8)
  list(GET number 0 number)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${RMQ_UNITY} UNITY_BUILD_BATCH_SIZE ${number})
endfunction()

# rmq_unite_folders(<target> <source>...): the same, with none beside one of another folder. Those named are what a message
# passes: compiled alone in a release build.
function(rmq_unite_folders target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${RMQ_UNITY} UNITY_BUILD_MODE GROUP)
  get_target_property(sources ${target} SOURCES)
  foreach(source ${sources})
    file(RELATIVE_PATH name ${CMAKE_CURRENT_SOURCE_DIR} ${source})
    if(name IN_LIST ARGN AND CMAKE_BUILD_TYPE STREQUAL "Release")
      continue()
    endif()
    get_filename_component(folder ${name} DIRECTORY)
    list(APPEND in_${folder} ${source})
    list(LENGTH in_${folder} number)
    math(EXPR batch "(${number} - 1) / 8")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${folder}_${batch})
  endforeach()
endfunction()

# rmq_floor(<folder> [LIBS <lib>...] [EXCLUDE <regex>...] [FAST <source>...] [PCH <header>...]): the static library rmq_<folder>
# from all sources of one folder and those below. Those that a message passes (FAST) are compiled alone in a release build: among others they
# cost instructions. In other builds they are few enough units that precompiled headers cost more than they save.
function(rmq_floor name)
  cmake_parse_arguments(ARG "" "" "LIBS;EXCLUDE;FAST;PCH" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS *.cpp */*.cpp)
  foreach(pattern ${ARG_EXCLUDE})
    list(FILTER sources EXCLUDE REGEX "${pattern}")
  endforeach()
  add_library(rmq_${name} STATIC ${sources})
  target_link_libraries(rmq_${name} PUBLIC rmq_options ${ARG_LIBS})
  if(CMAKE_BUILD_TYPE STREQUAL "Release")
    rmq_precompile(rmq_${name} ${ARG_PCH})
    rmq_unite(rmq_${name})
    set_source_files_properties(${ARG_FAST} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  else()
    rmq_unite(rmq_${name} 16)
  endif()
endfunction()

# rmq_uses_contract(<target>): has a file that includes methods/contract.hpp.
function(rmq_uses_contract target)
  add_dependencies(${target} rmq_contract)
  target_include_directories(${target} PRIVATE ${rmq_contract_dir})
endfunction()

# rmq_plugin(<method>): the method as rmq_method_<method>.so beside the library, for builds that load methods by name.
function(rmq_plugin name)
  add_library(rmq_method_${name} MODULE plugin.cpp)
  target_link_libraries(rmq_method_${name} PRIVATE rmq_${name})
  rmq_uses_contract(rmq_method_${name})
  set_target_properties(rmq_method_${name} PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
  if(RMQ_DISPATCH STREQUAL "plugin")
    install(TARGETS rmq_method_${name} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  endif()
endfunction()

# What the sanitizer presets build: asan every test with the label sanitize, and on demand memory; tsan those with the
# label threads, and on demand races.
add_custom_target(sanitize_tests)
add_custom_target(memory_tests)
add_custom_target(threads_tests)
add_custom_target(races_tests)

# What a quick check builds (quick_tests, at the end of tests/CMakeLists.txt): all programs but those named here, of tests
# that a sanitizer preset runs or that take long.
function(rmq_not_quick)
  set_property(GLOBAL APPEND PROPERTY RMQ_NOT_QUICK ${ARGN})
endfunction()

# rmq_sanitized(<label>... TARGETS <program>...): programs of tests that have these labels.
function(rmq_sanitized)
  cmake_parse_arguments(ARG "" "" "TARGETS" ${ARGN})
  foreach(label sanitize memory threads races)
    if(label IN_LIST ARG_UNPARSED_ARGUMENTS)
      add_dependencies(${label}_tests ${ARG_TARGETS})
      if(label MATCHES "^(sanitize|threads)$")
        rmq_not_quick(${ARG_TARGETS})
      endif()
    endif()
  endforeach()
endfunction()

# rmq_precompile_program(<target> <donor> <library> <header>...): the same for many small programs with the same headers,
# those of <library>; compiled once, with the flags of programs, as the target <donor>.
function(rmq_precompile_program target donor library)
  if(NOT RMQ_PCH)
    return()
  endif()
  if(NOT TARGET ${donor})
    set(source ${PROJECT_BINARY_DIR}/${donor}.cpp)
    file(CONFIGURE OUTPUT ${source} CONTENT "")
    add_library(${donor} OBJECT ${source})
    target_link_libraries(${donor} PRIVATE rmq_options fmt::fmt ${library})
    set_target_properties(${donor} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    get_target_property(options ${target} COMPILE_OPTIONS)
    target_compile_options(${donor} PRIVATE -fPIE ${options})
    rmq_precompile(${donor} ${ARGN})
  endif()
  target_precompile_headers(${target} REUSE_FROM ${donor})
  # GCC 12 warns of std::string when its code comes from a precompiled header.
  target_compile_options(${target} PRIVATE
    $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds;-Wno-restrict;-Wno-stringop-overflow;-Wno-stringop-overread>)
endfunction()

# What a GoogleTest program says when the machine lacks something that a test needs; ctest then counts it as skipped.
# A test that a variant has no use for skips in other words, and the program counts as passed.
set(rmq_missing "missing here: ")

# rmq_test(<name> <source>... [IN <program>] [LIBS <lib>...] [LABELS <label>...] [TIMEOUT s] [COST s]): one ctest entry. It is a
# GoogleTest program of its own; or, with IN, those tests of a program that stand in these sources, which are compiled
# together with the others of that program: most of what a test costs to compile is its headers. Tests with a COST begin first,
# so that no long one is left alone at the end.
function(rmq_test name)
  cmake_parse_arguments(ARG "" "IN;TIMEOUT;COST" "LIBS;LABELS" ${ARGN})
  if(ARG_IN)
    set(program ${ARG_IN})
  else()
    set(program ${name})
  endif()
  if(TARGET ${program})
    target_sources(${program} PRIVATE ${ARG_UNPARSED_ARGUMENTS})
  else()
    add_executable(${program} ${ARG_UNPARSED_ARGUMENTS})
    rmq_precompile_program(${program} rmq_test_headers GTest::gtest <gtest/gtest.h> <atomic> <filesystem> <fstream> <random> <thread>)
  endif()
  target_link_libraries(${program} PRIVATE rmq_options ${ARG_LIBS} GTest::gtest GTest::gtest_main)
  if(ARG_IN)
    rmq_unite(${program})
    set(sources)
    foreach(source ${ARG_UNPARSED_ARGUMENTS})
      get_filename_component(source ${source} ABSOLUTE)
      list(APPEND sources ${source})
    endforeach()
    add_test(NAME ${name} COMMAND ${PROJECT_SOURCE_DIR}/tests/of_source.sh $<TARGET_FILE:${program}> ${sources})
  else()
    add_test(NAME ${name} COMMAND ${name})
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 400)
  endif()
  if(ARG_COST)
    set_tests_properties(${name} PROPERTIES COST ${ARG_COST})
  endif()
  set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABELS}"
    SKIP_REGULAR_EXPRESSION "${rmq_missing}")
  rmq_sanitized(${ARG_LABELS} TARGETS ${program})
endfunction()

# rmq_filtered_test(<name> <program> <filter>): those tests of a GoogleTest program, of which there has to be one: a
# filter that nothing passes is no success.
function(rmq_filtered_test name program filter)
  add_test(NAME ${name}
    COMMAND ${PROJECT_SOURCE_DIR}/tests/expect.sh good "^[[]==========[]] [1-9][0-9]* tests? from .* ran" $<TARGET_FILE:${program}>
            --gtest_filter=${filter})
  set_tests_properties(${name} PROPERTIES SKIP_REGULAR_EXPRESSION "${rmq_missing}")
endfunction()

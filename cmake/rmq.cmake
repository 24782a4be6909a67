# What every target of the project shares.

add_library(rmq_options INTERFACE)
target_include_directories(rmq_options INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(rmq_options INTERFACE
  -Wall -Wextra -Wshadow -Wpointer-arith -Wcast-align -Wundef
  -fno-tree-slp-vectorize
  $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor -Woverloaded-virtual -Wold-style-cast>
  $<$<BOOL:${RMQ_WERROR}>:-Werror>)
target_compile_definitions(rmq_options INTERFACE RMQ_VERSION="${PROJECT_VERSION}")

# rmq_floor(<folder> [LIBS <lib>...]): the static library rmq_<folder> from all sources of one folder.
function(rmq_floor name)
  cmake_parse_arguments(ARG "" "" "LIBS;EXCLUDE" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS *.cpp os/*.cpp)
  foreach(pattern ${ARG_EXCLUDE})
    list(FILTER sources EXCLUDE REGEX "${pattern}")
  endforeach()
  add_library(rmq_${name} STATIC ${sources})
  target_link_libraries(rmq_${name} PUBLIC rmq_options ${ARG_LIBS})
endfunction()

# rmq_plugin(<method>): the method as rmq_method_<method>.so beside the library, for builds that load methods by name.
function(rmq_plugin name)
  add_library(rmq_method_${name} MODULE plugin.cpp)
  target_link_libraries(rmq_method_${name} PRIVATE rmq_${name})
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

# rmq_sanitized(<label>... TARGETS <program>...): programs of tests that have these labels.
function(rmq_sanitized)
  cmake_parse_arguments(ARG "" "" "TARGETS" ${ARGN})
  foreach(label sanitize memory threads races)
    if(label IN_LIST ARG_UNPARSED_ARGUMENTS)
      add_dependencies(${label}_tests ${ARG_TARGETS})
    endif()
  endforeach()
endfunction()

# rmq_test(<name> <source>... [LIBS <lib>...] [LABELS <label>...] [TIMEOUT s]): one GoogleTest program, one ctest entry.
function(rmq_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "LIBS;LABELS" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE rmq_options ${ARG_LIBS} GTest::gtest GTest::gtest_main)
  add_test(NAME ${name} COMMAND ${name})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABELS}")
  rmq_sanitized(${ARG_LABELS} TARGETS ${name})
endfunction()

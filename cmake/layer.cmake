# One call per layer: a static library whose include root holds a link to its own folder and nothing else, so that an include
# that points upwards is "no such file" and not a matter of taste.
#
#   viewgate_layer(projection SOURCES group.cpp … MAY_USE ledger LINK Boost::json)
#
# MAY_USE: layers whose headers this one may include. LINK: libraries that its own headers need. LINK_PRIVATE: the others.
function(viewgate_layer name)
  cmake_parse_arguments(ARG "" "" "SOURCES;MAY_USE;LINK;LINK_PRIVATE" ${ARGN})
  set(root ${CMAKE_BINARY_DIR}/include/${name})
  file(MAKE_DIRECTORY ${root})
  if(NOT EXISTS ${root}/${name})
    file(CREATE_LINK ${CMAKE_SOURCE_DIR}/${name} ${root}/${name} SYMBOLIC)
  endif()
  add_library(viewgate_${name} STATIC ${ARG_SOURCES})
  add_library(viewgate::${name} ALIAS viewgate_${name})
  target_include_directories(viewgate_${name} PUBLIC ${root})
  foreach(layer IN LISTS ARG_MAY_USE)
    target_link_libraries(viewgate_${name} PUBLIC viewgate::${layer})
  endforeach()
  target_link_libraries(viewgate_${name} PUBLIC ${ARG_LINK} PRIVATE ${ARG_LINK_PRIVATE} viewgate_warnings)
endfunction()

# A test program: viewgate_test(ledger_pull SOURCES pull_test.cpp LAYERS ledger [LABELS quick|long] [TIMEOUT 120])
# quick: needs nothing but the CPU and ends in seconds (runs under ASan in every test run). long: only in ./dev test-all.
# Where the tree and its build stand, for the few tests that read files or start programs. A header of its own and no flag of
# every compilation, so that the compiler's cache serves every checkout.
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/include/tests/viewgate_paths.hpp CONTENT
"#pragma once
#define VIEWGATE_SOURCE_DIR \"@CMAKE_SOURCE_DIR@\"
#define VIEWGATE_BINARY_DIR \"@CMAKE_BINARY_DIR@\"
" @ONLY)

add_custom_target(quick_tests)
function(viewgate_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;LAYERS;LINK;LABELS" ${ARGN})
  add_executable(test_${name} ${ARG_SOURCES})
  foreach(layer IN LISTS ARG_LAYERS)
    target_link_libraries(test_${name} PRIVATE viewgate::${layer})
  endforeach()
  target_include_directories(test_${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests ${CMAKE_BINARY_DIR}/include/tests)
  target_link_libraries(test_${name} PRIVATE ${ARG_LINK} GTest::gmock GTest::gtest_main viewgate_warnings)
  if("quick" IN_LIST ARG_LABELS)
    add_dependencies(quick_tests test_${name})
  endif()
  add_test(NAME ${name} COMMAND test_${name})
  # A bound for what hangs, not for what is slow: machines differ, and sanitizers cost five to twenty times.
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  if(VIEWGATE_SANITIZE)
    math(EXPR ARG_TIMEOUT "${ARG_TIMEOUT} * 4")
  endif()
  set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABELS}")
endfunction()

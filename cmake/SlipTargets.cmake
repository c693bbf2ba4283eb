# slip_layer(NAME [FOLDERS ...] [LAYERS ...] [LIBRARIES ...] [TEST_LAYERS ...])
#   The folder that calls it becomes the static library slip_NAME: every *.cc beside the call and in FOLDERS below it,
#   tests, fuzz targets and main.cc excepted. LAYERS are the slip_* libraries it may include, LIBRARIES come from outside, TEST_LAYERS
#   are slip_* libraries that only its tests include.
#   Tests (*_test.cc) become one program, NAME_test; each *_fuzz.cc one libFuzzer program.

set(SLIP_TEST_SECONDS_MAX 300)  # of one case, on a busy machine
add_library(slip_flags INTERFACE)
target_compile_features(slip_flags INTERFACE cxx_std_20)
# Designated initialisers name what differs from the defaults; the fields left out are meant to be left out.
set(warnings -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wno-missing-field-initializers)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 is wrong about operator+ of strings at -O3, and takes the sources in a unity unit for headers.
  list(APPEND warnings -Wno-restrict -Wno-subobject-linkage)
endif()
target_compile_options(slip_flags INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:${warnings}>")
target_include_directories(slip_flags INTERFACE "${PROJECT_SOURCE_DIR}/src")
if(SLIP_SANITIZE)
  set(SLIP_TEST_SECONDS_MAX 1200)
  target_compile_options(slip_flags INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=all
                                              -fno-omit-frame-pointer)
  target_compile_definitions(slip_flags INTERFACE SLIP_SANITIZED)  # tests do less: everything takes ten times as long
  target_link_options(slip_flags INTERFACE -fsanitize=address,undefined)
endif()
if(SLIP_BUILD_FUZZERS)
  add_custom_target(fuzzers)  # all fuzz programs and what they need, nothing else
  # Coverage for every layer; only the fuzz programs link libFuzzer's main.
  target_compile_options(slip_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

function(slip_layer name)
  cmake_parse_arguments(ARG "" "" "FOLDERS;LAYERS;LIBRARIES;TEST_LAYERS" ${ARGN})
  list(TRANSFORM ARG_FOLDERS APPEND "/*.cc")
  file(GLOB sources CONFIGURE_DEPENDS *.cc ${ARG_FOLDERS})
  set(tests ${sources})
  set(fuzzers ${sources})
  list(FILTER sources EXCLUDE REGEX "(_test|_fuzz|/main)\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(FILTER fuzzers INCLUDE REGEX "_fuzz\\.cc$")

  list(TRANSFORM ARG_LAYERS PREPEND slip_)
  if(sources)
    add_library(slip_${name} STATIC ${sources})
    target_link_libraries(slip_${name} PUBLIC slip_flags ${ARG_LAYERS} ${ARG_LIBRARIES})
  else()
    add_library(slip_${name} INTERFACE)
    target_link_libraries(slip_${name} INTERFACE slip_flags ${ARG_LAYERS} ${ARG_LIBRARIES})
  endif()

  if(SLIP_BUILD_TESTS AND tests)
    slip_test(${name}_test SOURCES ${tests} LAYERS ${name} ${ARG_TEST_LAYERS})
  endif()
  if(SLIP_BUILD_FUZZERS)
    foreach(fuzzer ${fuzzers})
      get_filename_component(program ${fuzzer} NAME_WE)
      add_executable(${program} ${fuzzer})
      target_link_libraries(${program} PRIVATE slip_${name} -fsanitize=fuzzer)
      add_dependencies(fuzzers ${program})
    endforeach()
  endif()
endfunction()

# slip_test(PROGRAM SOURCES ... LAYERS ... [PREFIX of the cases' names])   one GoogleTest program; every TEST is one ctest case
function(slip_test program)
  cmake_parse_arguments(ARG "" "PREFIX" "SOURCES;LAYERS" ${ARGN})
  list(TRANSFORM ARG_LAYERS PREPEND slip_)
  add_executable(${program} ${ARG_SOURCES})
  target_link_libraries(${program} PRIVATE ${ARG_LAYERS} GTest::gtest GTest::gtest_main)
  # -O1: tests are compiled more often than they are run, and what they test has the flags of its own folder.
  target_compile_options(${program} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:-O1>")
  target_compile_definitions(${program} PRIVATE SLIP_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  gtest_discover_tests(${program} TEST_PREFIX "${ARG_PREFIX}" DISCOVERY_MODE PRE_TEST PROPERTIES TIMEOUT ${SLIP_TEST_SECONDS_MAX})
endfunction()

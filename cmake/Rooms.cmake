# One object library and one unit-test program per room of the house (docs/architecture.md).

# -Wrestrict: GCC 12 sees overlaps in every "text" + std::to_string(number) (its bug 105651).
set(LAPWING_WARNINGS -Wall -Wextra -Werror -Wno-unused-parameter $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
set(LAPWING_FLAGS -fvisibility=hidden -fvisibility-inlines-hidden -fno-plt)
# Two neighbouring words that were written one by one a moment ago must not be read as one vector, which waits until both have left the
# store buffer: on the way of a small message that costs more than vectors gain there. Loops are not concerned.
set(LAPWING_ROOM_FLAGS -fno-tree-slp-vectorize)
if(LAPWING_SANITIZE)
  # -g1 gives reports their files and lines; the names of variables would make compiling half as long again.
  list(APPEND LAPWING_FLAGS -fsanitize=${LAPWING_SANITIZE} -fno-omit-frame-pointer -g1 -O1)
  add_link_options(-fsanitize=${LAPWING_SANITIZE})
  if(LAPWING_SANITIZE MATCHES "undefined")
    list(APPEND LAPWING_FLAGS -fno-sanitize-recover=all)
  endif()
endif()

if(LAPWING_DELAY_POINTS)
  list(APPEND LAPWING_FLAGS -DLAPWING_DELAY_POINTS)
endif()

function(lapwing_compile_settings target)
  target_compile_options(${target} PRIVATE ${LAPWING_WARNINGS} ${LAPWING_FLAGS})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src ${LAPWING_GENERATED_DIR})
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  add_dependencies(${target} lapwing_generated)
endfunction()

# lapwing_objects(VARIABLE ROOM files...): a room's objects of these of its sources, for a program that needs no more of it.
function(lapwing_objects variable room)
  string(REPLACE ";" "|" pattern "${ARGN}")
  string(REPLACE "." "\\." pattern "${pattern}")
  set(${variable} "$<FILTER:$<TARGET_OBJECTS:lapwing_${room}>,INCLUDE,/${room}/(${pattern})\\.o$>" PARENT_SCOPE)
endfunction()

# What most sources include, compiled once for a target: half the time of a build goes into reading it.
function(lapwing_precompile target)
  # With one GCC 12 finds fault with what std::string copies, in the library's own header.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds -Wno-stringop-overread -Wno-stringop-overflow>)
  target_precompile_headers(${target} PRIVATE ${ARGN} <algorithm> <atomic> <cstring> <functional> <map> <memory> <mutex> <string> <vector>)
endfunction()

# A program of unit tests: its own code is hardly optimized, because compiling the tests takes longer than running them; but for those of
# coll, which carry out thousands of schedules.
function(lapwing_test_settings target)
  if(LAPWING_SANITIZE AND NOT target STREQUAL coll_test)
    target_compile_options(${target} PRIVATE -O0)
  else()
    target_compile_options(${target} PRIVATE -O1)
  endif()
  # The checks that cost the compiler most, of the tests' own code: a null pointer ends it anyway, and its virtual calls are googletest's.
  if(LAPWING_SANITIZE MATCHES "undefined")
    target_compile_options(${target} PRIVATE -fno-sanitize=null,vptr)
  endif()
  # GCC 12 takes what an empty std::optional does not hold for uninitialized (its bug 80635).
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  lapwing_precompile(${target} <gtest/gtest.h> <chrono> <random> <thread>)
endfunction()

# The sources of src/<room>, tests apart. Rooms link nothing here: the order of include directions is checked by
# test/check_includes.py, and the library links all of them.
function(lapwing_room room)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${room}/*.cc)
  set(tests ${sources})
  # old_names.cc calls the entry points, which only the library has.
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$|/old_names\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  add_library(lapwing_${room} OBJECT ${sources})
  lapwing_compile_settings(lapwing_${room})
  target_compile_options(lapwing_${room} PRIVATE ${LAPWING_ROOM_FLAGS})
  # Not where users build: a source that lacks an include must not compile there.
  if(LAPWING_SANITIZE)
    lapwing_precompile(lapwing_${room})
  endif()
  if(LAPWING_TESTS AND tests)
    # A room's tests may use every room that it may include: the ones before it in LAPWING_ROOMS.
    set(objects)
    foreach(lower IN LISTS LAPWING_ROOMS)
      list(APPEND objects $<TARGET_OBJECTS:lapwing_${lower}>)
      if(lower STREQUAL room)
        break()
      endif()
    endforeach()
    add_executable(${room}_test ${tests} ${objects})
    lapwing_compile_settings(${room}_test)
    lapwing_test_settings(${room}_test)
    target_link_libraries(${room}_test PRIVATE GTest::gtest GTest::gtest_main PkgConfig::SODIUM Threads::Threads)
    add_test(NAME unit.${room} COMMAND ${room}_test)
  endif()
endfunction()

# Turns the tables in api/ into mpi.h, the shims and what goes with them.
#
# Defines
#   LAPWING_GENERATED_DIR      where the outputs lie; an include directory (mpi.h, mpi/implementation.h, mpi/coverage.inc)
#   LAPWING_GENERATED_SOURCES  the C entry points, sources of the shared library
#   LAPWING_VERSION_SCRIPT     the version script of the shared library
#   LAPWING_ONLY_BUILT_SOURCE  the source of the library that mpicc -only-built links against
#   target lapwing_generated   depend on it before compiling anything that includes a generated header
#   tests api.tables, api.exports

find_package(Python3 3.9 REQUIRED COMPONENTS Interpreter)

set(LAPWING_GENERATED_DIR ${PROJECT_BINARY_DIR}/generated)
set(LAPWING_VERSION_SCRIPT ${LAPWING_GENERATED_DIR}/libmpi_abi.map)
set(LAPWING_ONLY_BUILT_SOURCE ${LAPWING_GENERATED_DIR}/only_built.cc)
file(GLOB lapwing_api_inputs CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/../api/*.py ${CMAKE_CURRENT_LIST_DIR}/../api/*.txt
                                               ${CMAKE_CURRENT_LIST_DIR}/../include/lapwing.h)

# The names of the outputs come from the generator itself, so that they are known before the first build.
execute_process(
  COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/../api/generate.py --list
  OUTPUT_VARIABLE lapwing_api_outputs OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
string(REPLACE "\n" ";" lapwing_api_outputs "${lapwing_api_outputs}")
list(TRANSFORM lapwing_api_outputs PREPEND ${LAPWING_GENERATED_DIR}/)
set(LAPWING_GENERATED_SOURCES ${lapwing_api_outputs})
list(FILTER LAPWING_GENERATED_SOURCES INCLUDE REGEX "shims_[0-9]+\\.cc$")

set(lapwing_api_stamp ${LAPWING_GENERATED_DIR}/generated.stamp)
add_custom_command(
  OUTPUT ${lapwing_api_stamp}
  BYPRODUCTS ${lapwing_api_outputs}
  COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/../api/generate.py ${LAPWING_GENERATED_DIR}
  COMMAND ${CMAKE_COMMAND} -E touch ${lapwing_api_stamp}
  DEPENDS ${lapwing_api_inputs}
  COMMENT "Generating the MPI interface from api/" VERBATIM)
add_custom_target(lapwing_generated DEPENDS ${lapwing_api_stamp})
set_source_files_properties(${lapwing_api_outputs} PROPERTIES GENERATED TRUE)

if(LAPWING_TESTS)
  add_test(NAME api.tables COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/../api/generate_test.py)
  add_test(NAME api.exports
    COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/../api/exports_test.py $<TARGET_FILE:mpi_abi>
            $<TARGET_FILE:mpi_abi_only_built>)
endif()

# The program of receive in the kernel (src/net/kernel/receive.bpf.c), compiled by clang for the machine that runs in the kernel.
#
# Defines
#   LAPWING_KERNEL_PROGRAM   whether it could be; without it the library says at run time that it was built without
#   target lapwing_kernel_program   makes kernel_program.inc, in LAPWING_GENERATED_DIR

set(lapwing_kernel_folder ${PROJECT_SOURCE_DIR}/src/net/kernel)
set(lapwing_kernel_include ${LAPWING_GENERATED_DIR}/kernel_program.inc)
set(LAPWING_KERNEL_PROGRAM OFF)
find_program(LAPWING_BPF_CLANG NAMES clang clang-19 clang-18 clang-17 clang-16 clang-15 clang-14)
set(lapwing_bpf_flags -O2 -target bpf -mcpu=v3 -Wall -Wextra -Werror)
if(CMAKE_LIBRARY_ARCHITECTURE)
  list(APPEND lapwing_bpf_flags -I/usr/include/${CMAKE_LIBRARY_ARCHITECTURE})
endif()
if(LAPWING_BPF_CLANG AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  execute_process(COMMAND ${LAPWING_BPF_CLANG} ${lapwing_bpf_flags} -fsyntax-only ${lapwing_kernel_folder}/receive.bpf.c
                  RESULT_VARIABLE lapwing_bpf_result ERROR_QUIET)
  if(lapwing_bpf_result EQUAL 0)
    set(LAPWING_KERNEL_PROGRAM ON)
  endif()
endif()

set(lapwing_embed ${Python3_EXECUTABLE} ${lapwing_kernel_folder}/embed.py)
if(LAPWING_KERNEL_PROGRAM)
  set(lapwing_kernel_object ${PROJECT_BINARY_DIR}/receive.bpf.o)
  add_custom_command(
    OUTPUT ${lapwing_kernel_include}
    COMMAND ${LAPWING_BPF_CLANG} ${lapwing_bpf_flags} -c ${lapwing_kernel_folder}/receive.bpf.c -o ${lapwing_kernel_object}
    COMMAND ${lapwing_embed} ${lapwing_kernel_object} ${lapwing_kernel_include}
    DEPENDS ${lapwing_kernel_folder}/receive.bpf.c ${lapwing_kernel_folder}/area.h ${lapwing_kernel_folder}/embed.py lapwing_generated
    COMMENT "Compiling the program of receive in the kernel" VERBATIM)
else()
  message(STATUS "Lapwing is built without receive in the kernel: that needs x86-64 and a clang that compiles for bpf")
  add_custom_command(
    OUTPUT ${lapwing_kernel_include}
    COMMAND ${lapwing_embed} - ${lapwing_kernel_include}
    DEPENDS ${lapwing_kernel_folder}/embed.py lapwing_generated VERBATIM)
endif()
add_custom_target(lapwing_kernel_program DEPENDS ${lapwing_kernel_include})

# Programs that run in the kernel (eBPF), compiled by clang when the library is built.
#
# Defines
#   LAPWING_KERNEL_PROGRAM, LAPWING_ETHER_PROGRAM            whether each could be compiled; without it the library says at run time that it was built without
#   targets lapwing_kernel_program, lapwing_kernel_overlap_program, lapwing_ether_program   make kernel_program.inc and so on, in LAPWING_GENERATED_DIR

find_program(LAPWING_BPF_CLANG NAMES clang clang-19 clang-18 clang-17 clang-16 clang-15 clang-14)
set(lapwing_bpf_flags -O2 -target bpf -mcpu=v3 -Wall -Wextra -Werror)
if(CMAKE_LIBRARY_ARCHITECTURE)
  list(APPEND lapwing_bpf_flags -I/usr/include/${CMAKE_LIBRARY_ARCHITECTURE})
endif()
set(lapwing_bpf_embed_script ${PROJECT_SOURCE_DIR}/src/net/bpf/embed.py)
set(lapwing_bpf_embed ${Python3_EXECUTABLE} ${lapwing_bpf_embed_script})

# One program, in a section of an object file of its own. `name`: kernel makes kernel_program.inc. Further arguments: what it includes.
function(lapwing_bpf_program name source section purpose)
  string(TOUPPER ${name} upper)
  set(include ${LAPWING_GENERATED_DIR}/${name}_program.inc)
  set(result 1)
  if(LAPWING_BPF_CLANG AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    execute_process(COMMAND ${LAPWING_BPF_CLANG} ${lapwing_bpf_flags} -fsyntax-only ${source} RESULT_VARIABLE result ERROR_QUIET)
  endif()
  if(result EQUAL 0)
    set(object ${PROJECT_BINARY_DIR}/${name}.bpf.o)
    add_custom_command(
      OUTPUT ${include}
      COMMAND ${LAPWING_BPF_CLANG} ${lapwing_bpf_flags} -c ${source} -o ${object}
      COMMAND ${lapwing_bpf_embed} ${object} ${section} ${include} ${source} ${ARGN}
      DEPENDS ${source} ${ARGN} ${lapwing_bpf_embed_script} lapwing_generated
      COMMENT "Compiling the program of ${purpose}" VERBATIM)
    set(LAPWING_${upper}_PROGRAM ON PARENT_SCOPE)
  else()
    message(STATUS "Lapwing is built without ${purpose}: that needs x86-64 and a clang that compiles for bpf")
    add_custom_command(
      OUTPUT ${include}
      COMMAND ${lapwing_bpf_embed} - ${section} ${include} ${source} ${ARGN}
      DEPENDS ${source} ${ARGN} ${lapwing_bpf_embed_script} lapwing_generated VERBATIM)
    set(LAPWING_${upper}_PROGRAM OFF PARENT_SCOPE)
  endif()
  add_custom_target(lapwing_${name}_program DEPENDS ${include})
endfunction()

set(lapwing_net_folder ${PROJECT_SOURCE_DIR}/src/net)
set(lapwing_kernel_folder ${lapwing_net_folder}/kernel)
set(lapwing_kernel_headers ${lapwing_kernel_folder}/area.h ${lapwing_kernel_folder}/overlap.h)
lapwing_bpf_program(kernel ${lapwing_kernel_folder}/receive.bpf.c sk_skb/verdict "receive in the kernel"
  ${lapwing_kernel_headers} ${lapwing_kernel_folder}/overlap.bpf.c)
lapwing_bpf_program(kernel_overlap ${lapwing_kernel_folder}/overlap.bpf.c sk_skb/overlap "receive in the kernel" ${lapwing_kernel_headers})
lapwing_bpf_program(ether ${lapwing_net_folder}/ether/steer.bpf.c xdp "raw Ethernet" ${lapwing_net_folder}/ether/steering_maps.h)

// Runs a program in which one system call is refused, as containers and hardened systems do it: confine WHAT PROGRAM [ARGUMENTS...]
//
//   memfd     memfd_create: EPERM
//   unix      socket(AF_UNIX, ...): EPERM
//   segment   to map shared memory that reserves nothing, as Lapwing maps its segment: ENOMEM
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CALL offsetof(struct seccomp_data, nr)
#define ARGUMENT(i) (offsetof(struct seccomp_data, args) + 8 * (i)) /* its low half: little-endian */
#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, field)
#define UNLESS_EQUAL(value, skip) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, skip)
#define MASK(bits) BPF_STMT(BPF_ALU | BPF_AND | BPF_K, bits)
#define RETURN(what) BPF_STMT(BPF_RET | BPF_K, what)
#define REFUSE(error) RETURN(SECCOMP_RET_ERRNO | (error))
#define ALLOW RETURN(SECCOMP_RET_ALLOW)

static struct sock_filter no_memfd[] = {LOAD(CALL), UNLESS_EQUAL(__NR_memfd_create, 1), REFUSE(EPERM), ALLOW};
static struct sock_filter no_unix[] = {
    LOAD(CALL), UNLESS_EQUAL(__NR_socket, 3), LOAD(ARGUMENT(0)), UNLESS_EQUAL(AF_UNIX, 1), REFUSE(EPERM), ALLOW};
static struct sock_filter no_segment[] = {LOAD(CALL),
                                          UNLESS_EQUAL(__NR_mmap, 4),
                                          LOAD(ARGUMENT(3)),
                                          MASK(MAP_SHARED | MAP_NORESERVE),
                                          UNLESS_EQUAL(MAP_SHARED | MAP_NORESERVE, 1),
                                          REFUSE(ENOMEM),
                                          ALLOW};

#define FILTER(name, program)                   \
  {                                             \
    name, {                                     \
      sizeof program / sizeof *program, program \
    }                                           \
  }

int main(int argc, char** argv) {
  const struct {
    const char* name;
    struct sock_fprog program;
  } filters[] = {FILTER("memfd", no_memfd), FILTER("unix", no_unix), FILTER("segment", no_segment)};
  for (size_t i = 0; argc > 2 && i < sizeof filters / sizeof *filters; ++i) {
    if (strcmp(argv[1], filters[i].name) != 0) continue;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filters[i].program) != 0) {
      perror("confine: the kernel takes no filter");
      return 77;
    }
    execvp(argv[2], argv + 2);
    perror(argv[2]);
    return 127;
  }
  fprintf(stderr, "usage: confine memfd|unix|segment PROGRAM [ARGUMENTS...]\n");
  return 2;
}

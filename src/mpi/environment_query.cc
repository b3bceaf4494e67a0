// What a program may ask about the library itself at any time: versions, the ABI, clocks, fields of statuses
// (MPI 5.0, chapters 3.2.5, 9.1, 9.6, 13.3 and 20). None of it needs initialization.

#include <ctime>

#include <cstdio>
#include <cstring>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "mpi.h"
#include "mpi/implementation.h"
#include "mpi/status_fields.h"
#include "process/version.h"

namespace lapwing::mpi {
namespace {

// What the Fortran side of the program told about itself (MPI_Abi_set_fortran_*), once per process.
struct FortranFacts {
  std::mutex mutex;
  bool info_set = false;
  std::vector<std::pair<std::string, std::string>> info;
  int logical_size = 0;  // bytes; 0: the booleans are not set
  unsigned char true_bytes[16] = {};
  unsigned char false_bytes[16] = {};
};

FortranFacts& fortran_facts() {
  static FortranFacts& facts = *new FortranFacts;  // never destroyed: asked at any time, also while the process exits
  return facts;
}

bool is_logical_size(int size) {
  return size == 1 || size == 2 || size == 4 || size == 8 || size == 16;
}

Status bad_logical_size(int size) {
  return Status::error(MPI_ERR_ARG, "logical_size is %d; a Fortran logical has 1, 2, 4, 8 or 16 bytes", size);
}

void copy_text(const char* text, char* to, int* length) {
  const std::size_t bytes = std::strlen(text);
  std::memcpy(to, text, bytes + 1);
  *length = static_cast<int>(bytes);
}

Status read_info(MPI_Info info, std::vector<std::pair<std::string, std::string>>& entries) {
  int keys = 0;
  LAPWING_TRY(info_get_nkeys(info, &keys));
  for (int i = 0; i < keys; ++i) {
    char key[MPI_MAX_INFO_KEY];
    char value[MPI_MAX_INFO_VAL];
    int length = sizeof value;
    int found = 0;
    LAPWING_TRY(info_get_nthkey(info, i, key));
    LAPWING_TRY(info_get_string(info, key, &length, value, &found));
    entries.emplace_back(key, value);
  }
  return {};
}

double seconds(const timespec& time) {
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace

// ---- Versions

Status get_version(int* version, int* subversion) {
  *version = MPI_VERSION;
  *subversion = MPI_SUBVERSION;
  return {};
}

Status get_library_version(char* version, int* resultlen) {
  copy_text(process::version().c_str(), version, resultlen);
  return {};
}

// ---- The ABI

Status abi_get_version(int* abi_major, int* abi_minor) {
  *abi_major = MPI_ABI_VERSION;
  *abi_minor = MPI_ABI_SUBVERSION;
  return {};
}

Status abi_get_info(MPI_Info* info) {
  LAPWING_TRY(info_create(info));
  LAPWING_TRY(info_set(*info, "mpi_aint_size", std::to_string(sizeof(MPI_Aint)).c_str()));
  LAPWING_TRY(info_set(*info, "mpi_count_size", std::to_string(sizeof(MPI_Count)).c_str()));
  return info_set(*info, "mpi_offset_size", std::to_string(sizeof(MPI_Offset)).c_str());
}

Status abi_set_fortran_info(MPI_Info info) {
  std::vector<std::pair<std::string, std::string>> entries;
  if (info != MPI_INFO_NULL) LAPWING_TRY(read_info(info, entries));
  FortranFacts& facts = fortran_facts();
  std::lock_guard<std::mutex> hold(facts.mutex);
  if (facts.info_set) return Status::error(MPI_ERR_ABI, "the Fortran facts were set before, and can be set only once");
  facts.info = std::move(entries);
  facts.info_set = true;
  return {};
}

Status abi_get_fortran_info(MPI_Info* info) {
  FortranFacts& facts = fortran_facts();
  std::lock_guard<std::mutex> hold(facts.mutex);
  *info = MPI_INFO_NULL;
  if (!facts.info_set) return {};
  LAPWING_TRY(info_create(info));
  for (const auto& [key, value] : facts.info) LAPWING_TRY(info_set(*info, key.c_str(), value.c_str()));
  return {};
}

Status abi_set_fortran_booleans(int logical_size, void* logical_true, void* logical_false) {
  if (!is_logical_size(logical_size)) return bad_logical_size(logical_size);
  if (logical_true == nullptr || logical_false == nullptr) {
    return Status::error(MPI_ERR_ARG, "logical_true or logical_false is a null pointer");
  }
  FortranFacts& facts = fortran_facts();
  std::lock_guard<std::mutex> hold(facts.mutex);
  if (facts.logical_size != 0) {
    return Status::error(MPI_ERR_ABI, "the Fortran booleans were set before, and can be set only once");
  }
  facts.logical_size = logical_size;
  std::memcpy(facts.true_bytes, logical_true, static_cast<std::size_t>(logical_size));
  std::memcpy(facts.false_bytes, logical_false, static_cast<std::size_t>(logical_size));
  return {};
}

Status abi_get_fortran_booleans(int logical_size, void* logical_true, void* logical_false, int* is_set) {
  if (!is_logical_size(logical_size)) return bad_logical_size(logical_size);
  FortranFacts& facts = fortran_facts();
  std::lock_guard<std::mutex> hold(facts.mutex);
  *is_set = facts.logical_size == logical_size;
  if (*is_set == 0) return {};
  if (logical_true == nullptr || logical_false == nullptr) {
    return Status::error(MPI_ERR_ARG, "logical_true or logical_false is a null pointer");
  }
  std::memcpy(logical_true, facts.true_bytes, static_cast<std::size_t>(logical_size));
  std::memcpy(logical_false, facts.false_bytes, static_cast<std::size_t>(logical_size));
  return {};
}

// ---- Clocks, profiling

double wtime() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return seconds(now);
}

double wtick() {
  timespec resolution;
  clock_getres(CLOCK_MONOTONIC, &resolution);
  return seconds(resolution);
}

Status pcontrol(int) {
  return {};
}  // for tools that put their own in its place

// ---- Fields of statuses

Status status_get_source(const MPI_Status* status, int* source) {
  *source = status->MPI_SOURCE;
  return {};
}

Status status_get_tag(const MPI_Status* status, int* tag) {
  *tag = status->MPI_TAG;
  return {};
}

Status status_get_error(const MPI_Status* status, int* err) {
  *err = status->MPI_ERROR;
  return {};
}

Status status_set_source(MPI_Status* status, int source) {
  status->MPI_SOURCE = source;
  return {};
}

Status status_set_tag(MPI_Status* status, int tag) {
  status->MPI_TAG = tag;
  return {};
}

Status status_set_error(MPI_Status* status, int err) {
  status->MPI_ERROR = err;
  return {};
}

Status status_set_cancelled(MPI_Status* status, int flag) {
  status_set_cancelled(*status, flag != 0);
  return {};
}

Status test_cancelled(const MPI_Status* status, int* flag) {
  *flag = status_cancelled(*status) ? 1 : 0;
  return {};
}

}  // namespace lapwing::mpi

// The connection of a rank to the service `lapwing accelerator` (launch/accelerator/, wire/accelerator.h): one request at a time, each with a deadline.
//
// The service is given connections or memory of the job, so it must be trusted: it runs as root, as this user, or as the user whose folder its socket
// lies in, and only that one may write there.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "net/bpf/bpf.h"
#include "wire/accelerator.h"

namespace lapwing::net::kernel {

class AcceleratorClient {
 public:
  enum class Outcome { kGranted, kRefused, kNotAsked, kNoAnswer };
  struct Reply {
    Outcome outcome;
    std::string why;
    std::vector<bpf::Descriptor> descriptors;
  };

  explicit AcceleratorClient(std::string path) noexcept : path_(std::move(path)) {}
  ~AcceleratorClient();
  AcceleratorClient(const AcceleratorClient&) = delete;
  AcceleratorClient& operator=(const AcceleratorClient&) = delete;
  // For tests: a connection that stands.
  void adopt(bpf::Descriptor connection);

  Status connect(int patience_ms);
  bool connected() const noexcept { return connection_ >= 0; }
  // Ends the connection unless there is an answer.
  Reply ask(const wire::AcceleratorRequest& request, int patience_ms, int descriptor = -1);
  // The same, of what is granted with so many descriptors.
  Status fetch(const wire::AcceleratorRequest& request, int patience_ms, int descriptor, std::size_t count,
               std::vector<bpf::Descriptor>& descriptors);

  std::string by() const { return "by the service at " + path_; }
  Status refused(const std::string& why) const;

 private:
  Status check_trust() const;
  Reply hear();

  const std::string path_;
  int connection_ = -1;  // noted as this process's own: a child that it forks must not hold it
};

}  // namespace lapwing::net::kernel

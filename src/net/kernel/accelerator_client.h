// The connection of a rank to the service `lapwing accelerator` (launch/accelerator/, wire/accelerator.h). A request is asked, and its answer waited
// for with a deadline; or it is told, and its answer found later.
//
// The service is given connections or memory of the job, so it must be trusted: it runs as root, as this user, or as the user whose folder its socket
// lies in, and only that one may write there.
#pragma once

#include <cstddef>
#include <deque>
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
    Outcome outcome = Outcome::kNoAnswer;
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

  // Waits for nothing. Each request that was told has an answer, in order, from heard() on: kNoAnswer where the connection has ended.
  Status tell(const wire::AcceleratorRequest& request, int descriptor);
  // False: the next answer has not come yet, or there is none to come.
  bool heard(Reply& reply);

  std::string by() const { return "by the service at " + path_; }
  Status refused(const std::string& why) const;

 private:
  Status check_trust() const;
  bool hear(Reply& reply, int flags = 0);
  // An answer to what was told comes before that to what was asked.
  void hear_told(Reply& next);
  void end() noexcept;

  const std::string path_;
  int connection_ = -1;  // noted as this process's own: a child that it forks must not hold it
  std::size_t owed_ = 0;  // answers to what was told, that have not come
  std::deque<Reply> told_;  // that have
};

}  // namespace lapwing::net::kernel

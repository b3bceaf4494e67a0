// A launcher that speaks PMI-1 (pmi_client.h): our mpiexec, Hydra, Slurm. Ours carries more in fewer round trips, and tells in
// variables what the others do not say.
#pragma once

#include "runtime/launcher.h"
#include "runtime/pmi_client.h"

namespace lapwing::runtime {

class Pmi1Launcher final : public Launcher {
 public:
  // Over the connection that PMI_FD names, or one that is made to PMI_PORT.
  enum class Way { kDescriptor, kPort };
  explicit Pmi1Launcher(Way way) noexcept : way_(way) {}

  Status join(Place& place) override;
  bool closed_unheard() const noexcept override { return client_.closed_unheard(); }
  Status put(std::string_view key, std::string_view value) override { return client_.put(key, value); }
  Status fence() override;
  bool fence_counts_the_living() const noexcept override { return client_.counts_the_living(); }
  Status tell_lost(int rank) override { return client_.tell_lost(rank); }
  Status get(std::string_view key, std::string& value) override { return client_.get(key, value); }
  Status exchange(const Place& place, std::string_view key, const std::string& mine, bool read,
                  wire::CardBook& all) override;
  Status leave() override { return client_.finalize(); }
  bool shows_last_words() const noexcept override { return client_.shows_errors(); }
  bool abort(const LastWords& words) noexcept override;

 private:
  const Way way_;
  PmiClient client_;
};

}  // namespace lapwing::runtime

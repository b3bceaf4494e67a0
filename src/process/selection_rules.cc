#include "process/selection_rules.h"

#include <algorithm>
#include <cstdlib>

#include "base/log.h"
#include "coll/model/store.h"
#include "process/process.h"

namespace lapwing::process {
namespace {

namespace model = coll::model;

constexpr const char* kModelKey = "model";
constexpr const char* kCoresKey = "cores";

void read_parameters(const std::string& text, coll::SelectionRules& rules) {
  const Status status = text.empty() ? Status() : model::read(text, rules.parameters);
  if (!status.ok()) log_warn("rank 0's parameters of the model make no sense here: %s", status.text());
}

}  // namespace

void offer_selection_rules(Process& process, wire::Card& card) {
  if (process.job.rank() != 0) return;
  const model::Loaded loaded = model::load(process.settings.model, process.job.host_name());
  if (!loaded.notice.empty()) log_warn("%s", loaded.notice.c_str());
  // The user has measured, or wants the defaults: then nothing is measured at run time.
  if (!loaded.path.empty() || process.settings.model == "none") card.set(kModelKey, model::print(loaded.parameters));
  if (process.job.oversubscribed()) card.set(kCoresKey, std::to_string(process.job.cores()));
}

void adopt_selection_rules(Process& process, const wire::CardBook& cards) {
  coll::SelectionRules& rules = process.rules;
  rules.wanted = process.settings.algorithm;
  rules.single_host = process.job.single_host();
  wire::Card card;
  if (!cards.read(0, card).ok()) return;
  read_parameters(card.get(kModelKey), rules);
  rules.measures_link = !card.has(kModelKey);
  if (card.has(kCoresKey)) rules.cores = std::max(1, std::atoi(card.get(kCoresKey).c_str()));
}

}  // namespace lapwing::process

// Which algorithm is chosen for a call, and why.
#include <algorithm>
#include <charconv>
#include <cstdio>

#include "base/settings.h"
#include "coll/selection.h"
#include "tool/model.h"

extern char** environ;

namespace lapwing::launch {
namespace {

namespace model = coll::model;
using coll::Candidates;

struct Question {
  CollectiveKind collective = CollectiveKind::kBarrier;
  std::uint64_t bytes = 0;
  int ranks = 0;
  int cores = 0;
  bool blocking = true, messages = false;
  std::vector<model::LinkKind> links;
};

bool parse_count(const std::string& text, int& count) {
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  return error == std::errc() && stop == text.data() + text.size() && count >= 1 && count <= 1 << 22;
}

int complain(const char* what, const std::string& text) {
  std::fprintf(stderr, "lapwing model explain: '%s' is %s\n", text.c_str(), what);
  return 2;
}

int parse_option(const std::vector<std::string>& words, std::size_t& at, Question& question) {
  const std::string& option = words[at];
  const std::string value = at + 1 < words.size() ? words[at + 1] : "";
  model::LinkKind kind;
  if (option == "--nonblocking") {
    question.blocking = false;
  } else if (option == "--messages") {
    question.messages = true;
  } else if (option == "--link") {
    if (!model::parse(value, kind)) return complain("no kind of link: shared, local_tcp, hosts", value);
    question.links.push_back(kind);
    ++at;
  } else if (option == "--cores") {
    if (!parse_count(value, question.cores)) return complain("no number of cores", value);
    ++at;
  } else {
    return complain("no option", option);
  }
  return 0;
}

int parse(const std::vector<std::string>& words, Question& question) {
  if (!find_collective(words[0], question.collective)) return complain("no collective; `lapwing info --algorithms` lists them", words[0]);
  if (!settings::BytesKind::parse(words[1], question.bytes)) return complain("no number of bytes (64k)", words[1]);
  if (!parse_count(words[2], question.ranks)) return complain("no number of ranks", words[2]);
  for (std::size_t at = 3; at < words.size(); ++at)
    if (const int wrong = parse_option(words, at, question)) return wrong;
  if (question.links.empty())
    question.links = {model::LinkKind::kShared, model::LinkKind::kLocalTcp, model::LinkKind::kHosts};
  return 0;
}

coll::Situation situation_of(const Question& question, model::LinkKind link, const Settings& settings,
                             const model::Parameters& parameters) {
  coll::Situation team;
  team.ranks = question.ranks;
  team.link = link;
  team.area = link == model::LinkKind::kShared && !question.messages && question.ranks > 1;
  team.oversubscribed = question.cores > 0 && question.ranks > question.cores;
  team.cores = question.cores;
  team.blocking = question.blocking;
  team.wanted = settings.algorithm;
  team.parameters = &parameters;
  return team;
}

void print_candidates(std::vector<Candidates::Candidate> all, Algorithm chosen) {
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.cost.time < b.cost.time; });
  std::printf("    %-18s %12s %12s   %s\n", "", "time us", "processor", "formula of the time");
  for (const Candidates::Candidate& each : all)
    std::printf("  %s %-18s %12.2f %12.2f   %s\n", each.entry->algorithm == chosen ? "*" : " ",
                name(each.entry->algorithm).data(), each.cost.time / 1000, each.cost.processor / 1000, each.entry->text);
}

const char* reason(const coll::Situation& team, const Candidates& candidates, bool forced) {
  if (forced) return "LAPWING_ALGORITHM asks for it";
  const bool fastest = candidates.best(team.blocking).entry == candidates.fastest().entry;
  if (!fastest) return "it takes least from the processor, and little more time than the fastest";
  return "it takes least time";
}

void explain(const Question& question, model::LinkKind link, const Settings& settings,
             const model::Parameters& parameters) {
  const coll::Situation team = situation_of(question, link, settings, parameters);
  const coll::Amount amount = coll::plain_amount(question.collective, question.ranks, question.bytes, 8);
  const Candidates candidates(question.collective, team, amount);
  const Algorithm chosen = coll::choose(question.collective, team, amount);
  std::printf("\n%s%s: %s, because %s\n", model::meaning(link), team.area ? ", with a shared area" : "",
              name(chosen).data(), reason(team, candidates, coll::is_forced(question.collective, team, amount)));
  print_candidates({candidates.begin(), candidates.end()}, chosen);
}

}  // namespace

int explain_model(const std::vector<std::string>& arguments) {
  Question question;
  if (const int wrong = parse(arguments, question)) return wrong;
  Settings settings;
  if (!settings.load(environ).ok()) settings = Settings();
  const model::Loaded loaded = model_in_force();
  put_in_force(settings.tune);
  std::printf("%s of %s bytes, %d ranks, %s; parameters: %s\n", name(question.collective).data(),
              settings::BytesKind::print(question.bytes).c_str(), question.ranks,
              question.blocking ? "blocking" : "non-blocking", source_of(loaded).c_str());
  for (const model::LinkKind link : question.links) explain(question, link, settings, loaded.parameters);
  return 0;
}

}  // namespace lapwing::launch

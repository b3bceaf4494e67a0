// Options of other launchers that this one has not: each gets a line that says what to use here.
#pragma once

#include <string>
#include <string_view>

namespace lapwing::launch {

enum class Foreign {
  kFulfilled,  // what it asks for is always so here: taken without a word
  kIgnored,    // changes nothing about the results: left out, with a word
  kRefused,    // the job would be another one
};

struct ForeignOption {
  const char* names;  // separated by spaces
  int values;         // how many follow it
  Foreign what;
  const char* advice;
};

// Null for names that no launcher is known to have.
const ForeignOption* find_foreign_option(std::string_view name);

// For Open MPI's parameters (--mca NAME VALUE): what does the same here, or says why nothing is needed.
std::string advice_about_mca(std::string_view name, std::string_view value);

// Whether `name` is one of `names`, which spaces separate.
bool is_one_of(std::string_view name, std::string_view names);

}  // namespace lapwing::launch

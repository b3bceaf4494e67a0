// `lapwing model`: measures what messages, memory and reductions cost here, shows it, and explains which algorithms it leads to.
#pragma once

#include <string>
#include <vector>
#include <vector>

#include "coll/model/store.h"

namespace lapwing::launch {

int run_model(const std::vector<std::string>& arguments);

// The parts (model_measure.cc, model_explain.cc).
int measure_model(const std::vector<std::string>& arguments);
int explain_model(const std::vector<std::string>& arguments);
// LAPWING_MODEL.
std::string model_setting();
// The parameters in force, and their source. A notice goes to standard error.
coll::model::Loaded model_in_force();
// "the defaults", or the file.
std::string source_of(const coll::model::Loaded& loaded);

// How well the parameters describe what was measured (model_plot.cc).
struct FitPoint {
  std::string series;
  double bytes, measured, fitted;  // nanoseconds
};
// As an SVG picture: a panel for each series, both axes logarithmic.
std::string plot_fit(const std::vector<FitPoint>& points);

}  // namespace lapwing::launch

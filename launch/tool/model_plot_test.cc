#include <gtest/gtest.h>

#include <algorithm>

#include "tool/model.h"

namespace lapwing::launch {
namespace {

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(ModelPlot, APanelForEachSeriesAndADotForEachPoint) {
  const std::string svg = plot_fit({{"shared.single", 0, 200, 210}, {"shared.single", 65536, 4000, 3900}, {"memory.copy", 1024, 30, 31}});
  EXPECT_EQ(count(svg, "<circle"), 3u);
  EXPECT_EQ(count(svg, "<polyline"), 2u);
  EXPECT_EQ(count(svg, "shared.single"), 1u);
  EXPECT_EQ(count(svg, "memory.copy"), 1u);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_EQ(svg.find("inf"), std::string::npos);
}

TEST(ModelPlot, NothingMeasuredIsAnEmptyPicture) {
  const std::string svg = plot_fit({});
  EXPECT_EQ(svg.rfind("<svg", 0), 0u);
  EXPECT_EQ(count(svg, "<circle"), 0u);
}

}  // namespace
}  // namespace lapwing::launch

// The fit of the model as a picture: for each series of measurements a panel with the measured times as dots and the fitted ones as a line.
#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>

#include "tool/model.h"

namespace lapwing::launch {
namespace {

constexpr double kWidth = 260, kHeight = 180, kMargin = 46;  // of a panel, and around it, in pixels
constexpr int kColumns = 3;

[[gnu::format(printf, 1, 2)]] std::string format(const char* pattern, ...) {
  char text[400];
  va_list values;
  va_start(values, pattern);
  std::vsnprintf(text, sizeof text, pattern, values);
  va_end(values);
  return text;
}

// A logarithmic axis over whole powers of ten.
struct Axis {
  double least = 1e300, most = 0;
  void add(double value) {
    if (value <= 0) return;
    least = std::min(least, value);
    most = std::max(most, value);
  }
  int first() const { return static_cast<int>(std::floor(std::log10(least))); }
  int last() const { return std::max(first() + 1, static_cast<int>(std::ceil(std::log10(most)))); }
  // 0 to 1.
  double place(double value) const {
    return (std::log10(std::max(value, std::pow(10, first()))) - first()) / (last() - first());
  }
};

struct Panel {
  double left, top;
  Axis bytes, times;
  double x(double value) const { return left + kWidth * bytes.place(value); }
  double y(double value) const { return top + kHeight * (1 - times.place(value)); }
};

std::string grid(const Panel& panel) {
  std::string svg;
  for (int power = panel.bytes.first(); power <= panel.bytes.last(); ++power) {
    const double x = panel.x(std::pow(10, power));
    svg += format("<line x1='%.1f' y1='%.1f' x2='%.1f' y2='%.1f' stroke='#ddd'/>", x, panel.top, x, panel.top + kHeight);
    svg += format("<text x='%.1f' y='%.1f' text-anchor='middle'>%g B</text>\n", x, panel.top + kHeight + 14, std::pow(10, power));
  }
  for (int power = panel.times.first(); power <= panel.times.last(); ++power) {
    const double y = panel.y(std::pow(10, power));
    svg += format("<line x1='%.1f' y1='%.1f' x2='%.1f' y2='%.1f' stroke='#ddd'/>", panel.left, y, panel.left + kWidth, y);
    svg += format("<text x='%.1f' y='%.1f' text-anchor='end'>%g us</text>\n", panel.left - 4, y + 4, std::pow(10, power - 3));
  }
  return svg;
}

std::string draw(const std::vector<FitPoint>& points, double left, double top) {
  Panel panel{left, top, {}, {}};
  for (const FitPoint& point : points) {
    panel.bytes.add(std::max(1.0, point.bytes));
    panel.times.add(point.measured);
    panel.times.add(point.fitted);
  }
  std::string svg = format("<text x='%.1f' y='%.1f' font-weight='bold'>", left, top - 8) + points.front().series + "</text>\n" + grid(panel);
  std::string line;
  for (const FitPoint& point : points) {
    const double x = panel.x(std::max(1.0, point.bytes));
    line += format("%.1f,%.1f ", x, panel.y(point.fitted));
    svg += format("<circle cx='%.1f' cy='%.1f' r='3' fill='#1f77b4'/>\n", x, panel.y(point.measured));
  }
  return svg + "<polyline fill='none' stroke='#d62728' points='" + line + "'/>\n";
}

}  // namespace

std::string plot_fit(const std::vector<FitPoint>& points) {
  std::vector<std::vector<FitPoint>> series;
  for (const FitPoint& point : points) {
    if (series.empty() || series.back().front().series != point.series) series.emplace_back();
    series.back().push_back(point);
  }
  const int count = static_cast<int>(series.size()), rows = (count + kColumns - 1) / kColumns;
  const double across = kWidth + 2 * kMargin, down = kHeight + 2 * kMargin;
  std::string svg = format("<svg xmlns='http://www.w3.org/2000/svg' width='%.0f' height='%.0f' font-family='sans-serif' font-size='11'>\n",
                           kColumns * across, rows * down + 24);
  svg += "<rect width='100%' height='100%' fill='white'/>\n"
         "<text x='46' y='18'>dots: measured; lines: as the model's parameters say</text>\n";
  for (int i = 0; i < count; ++i)
    svg += draw(series[static_cast<std::size_t>(i)], i % kColumns * across + kMargin, i / kColumns * down + kMargin + 24);
  return svg + "</svg>\n";
}

}  // namespace lapwing::launch

// The page: the figures as tables, the run as plots in inline SVG. No script, no style sheet, no network.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>

#include "loadtest/run_report.hpp"

namespace viewgate::loadtest {

namespace {

constexpr double width = 860, height = 190, left = 70, right = 130, top = 14, bottom = 26;
constexpr const char* colours[] = {"#1565c0", "#c62828", "#9e9e9e"};

struct Line {
  std::string name;
  std::function<double(const TimelinePoint&)> value;
};

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string number(double value) {
  char out[48];
  const double size = std::abs(value);
  std::snprintf(out, sizeof(out), size >= 100 || value == std::floor(value) ? "%.0f" : "%.2f", value);
  return out;
}

/// 1, 2 or 5 times a power of ten, not below `value`.
double round_up(double value) {
  if (value <= 0) return 1;
  const double unit = std::pow(10, std::floor(std::log10(value)));
  for (const double times : {1.0, 2.0, 5.0}) {
    if (times * unit >= value) return times * unit;
  }
  return 10 * unit;
}

std::string text_at(double x, double y, const std::string& anchor, const std::string& text, const std::string& colour) {
  return "<text x=\"" + number(x) + "\" y=\"" + number(y) + "\" text-anchor=\"" + anchor + "\" fill=\"" + colour +
         "\">" + escaped(text) + "</text>";
}

class Plot {
 public:
  Plot(const std::vector<TimelinePoint>& points, const std::vector<Line>& lines) : points_(points), lines_(lines) {
    double most = 0;
    for (const TimelinePoint& point : points) {
      for (const Line& line : lines) most = std::max(most, line.value(point));
    }
    y_max_ = round_up(most);
    x_max_ = points.empty() ? 1 : std::max(points.back().at, 0.001);
  }

  std::string svg() const {
    std::string out = "<svg viewBox=\"0 0 " + number(width) + " " + number(height) + "\" role=\"img\">";
    for (const double part : {0.0, 0.5, 1.0}) {
      const double y = y_of(y_max_ * part);
      out += "<line x1=\"" + number(left) + "\" x2=\"" + number(width - right) + "\" y1=\"" + number(y) + "\" y2=\"" +
             number(y) + "\" stroke=\"#ddd\"/>" + text_at(left - 6, y + 4, "end", number(y_max_ * part), "#555");
      out += text_at(x_of(x_max_ * part), height - 6, "middle", number(x_max_ * part) + " s", "#555");
    }
    out += step_marks();
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      const std::string colour = colours[i % std::size(colours)];
      out += "<polyline fill=\"none\" stroke-width=\"1.5\" stroke=\"" + colour + "\" points=\"";
      for (const TimelinePoint& point : points_)
        out += number(x_of(point.at)) + "," + number(y_of(lines_[i].value(point))) + " ";
      out +=
          "\"/>" + text_at(width - right + 8, top + 14 + 18 * static_cast<double>(i), "start", lines_[i].name, colour);
    }
    return out + "</svg>";
  }

 private:
  double x_of(double value) const { return left + value / x_max_ * (width - left - right); }
  double y_of(double value) const { return height - bottom - value / y_max_ * (height - top - bottom); }

  std::string step_marks() const {
    std::string out;
    for (std::size_t i = 1; i < points_.size(); ++i) {
      if (points_[i].step == points_[i - 1].step) continue;
      const std::string x = number(x_of(points_[i - 1].at));
      out.append("<line x1=\"").append(x).append("\" x2=\"").append(x).append("\" y1=\"").append(number(top));
      out.append("\" y2=\"").append(number(height - bottom)).append("\" stroke=\"#bbb\" stroke-dasharray=\"3 3\"/>");
    }
    return out;
  }

  const std::vector<TimelinePoint>& points_;
  const std::vector<Line>& lines_;
  double y_max_ = 1, x_max_ = 1;
};

std::string plot(const RunReport& report, const std::string& title, const std::vector<Line>& lines) {
  return "<h2>" + escaped(title) + "</h2>" + Plot(report.points, lines).svg() + "\n";
}

std::string table(const std::string& title, const Figures& figures) {
  std::string out = "<h3>" + escaped(title) + "</h3><table>";
  for (const auto& [name, value] : figures)
    out += "<tr><td>" + escaped(name) + "</td><td>" + number(value) + "</td></tr>";
  return out + "</table>\n";
}

std::string plots(const RunReport& report) {
  std::string out;
  out += plot(report, "Latency from the due time, ms",
              {{"p50", [](const TimelinePoint& p) { return p.p50; }},
               {"p99", [](const TimelinePoint& p) { return p.p99; }},
               {"max", [](const TimelinePoint& p) { return p.max; }}});
  out += plot(report, "Commits per second", {{"commits", [](const TimelinePoint& p) { return p.commits; }}});
  out += plot(report, "Deliveries per second", {{"deliveries", [](const TimelinePoint& p) { return p.deliveries; }}});
  out += plot(report, "Memory of the server, MB", {{"resident", [](const TimelinePoint& p) { return p.server_mb; }}});
  out += plot(report, "Queue: commits without a number, deliveries under way",
              {{"waiting", [](const TimelinePoint& p) { return p.waiting; }},
               {"under way", [](const TimelinePoint& p) { return p.under_way; }}});
  return out;
}

}  // namespace

std::string html_of(const RunReport& report) {
  std::string out = "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>" + escaped(report.name) +
                    "</title><style>body{font:15px sans-serif;max-width:60rem;margin:2rem auto;color:#222}"
                    "svg{width:100%;font-size:12px}td{padding:0 1rem 0 0}td+td{text-align:right}"
                    ".right{color:#2e7d32}.wrong{color:#c62828}</style></head><body>\n<h1>" +
                    escaped(report.name) + "</h1><p>" + escaped(report.about) + "</p>\n";
  out += report.wrong.empty() ? "<p class=\"right\">Right: " : "<p class=\"wrong\">Wrong. ";
  out += std::to_string(report.sets_compared) + " sets were compared with their queries, " +
         std::to_string(report.records_compared) + " records.</p>\n";
  if (!report.wrong.empty()) {
    out += "<ul>";
    for (const std::string& what : report.wrong) out += "<li class=\"wrong\">" + escaped(what) + "</li>";
    out += "</ul>\n";
  }
  if (report.refused.empty()) {
    out += plots(report);
  } else {
    out += "<p class=\"wrong\">No figures: " + escaped(report.refused) + "</p>\n";
  }
  out += plot(report, "CPU, per cent of a core",
              {{"server", [](const TimelinePoint& p) { return p.server_cpu; }},
               {"client", [](const TimelinePoint& p) { return p.client_cpu; }}});
  if (report.refused.empty()) {
    out += table("The whole run", report.figures);
    for (const RunReport::Step& step : report.steps) out += table(step.name, step.figures);
  }
  return out + "</body></html>\n";
}

}  // namespace viewgate::loadtest

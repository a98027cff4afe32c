// The example files of the protocol, without their final newline.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "viewgate_paths.hpp"

namespace viewgate::test {

struct GoldenFile {
  std::string name;  ///< without .json
  std::string text;
};

[[nodiscard]] inline std::string file_text(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("cannot read " + path.string());
  return {std::istreambuf_iterator<char>(in), {}};
}

/// `folder`: under tests/golden; frozen/protocol are those of an earlier version.
[[nodiscard]] inline std::vector<GoldenFile> golden_files(const std::string& prefix,
                                                          const std::string& folder = "protocol") {
  std::vector<GoldenFile> out;
  for (const auto& entry : std::filesystem::directory_iterator(VIEWGATE_SOURCE_DIR "/tests/golden/" + folder)) {
    const std::string name = entry.path().stem().string();
    if (!name.starts_with(prefix)) continue;
    std::string text = file_text(entry.path());
    if (!text.ends_with('\n')) throw std::runtime_error(name + ": must end with a newline");
    text.pop_back();
    out.push_back({name, std::move(text)});
  }
  std::sort(out.begin(), out.end(), [](const GoldenFile& a, const GoldenFile& b) { return a.name < b.name; });
  return out;
}

}  // namespace viewgate::test

// Stands in for libFuzzer where there is none: runs every file of a corpus, cuts of it, and copies of it with a few bytes changed,
// through the fuzzer. The changes are the same in each run; new ones are looked for by ./dev fuzz.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>
#include <string>

#include "fuzz/fuzz.hpp"

namespace {

void run(const std::string& text) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
}

std::string changed(std::string text, std::mt19937& random) {
  constexpr unsigned changes_max = 4;
  for (unsigned left = 1 + random() % changes_max; left > 0 && !text.empty(); --left) {
    const std::size_t at = random() % text.size();
    const char byte = static_cast<char>(random() % 256);
    switch (random() % 4) {
      case 0:
        text[at] = byte;
        break;
      case 1:
        text.insert(at, 1, byte);
        break;
      case 2:
        text.erase(at, 1);
        break;
      default:
        text.insert(at, text.substr(random() % text.size(), 8));
    }
  }
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  int files = 0;
  constexpr std::size_t cuts = 64;
  constexpr int copies = 2000;
  for (int i = 1; i < argc; ++i) {
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
      std::ifstream file(entry.path(), std::ios::binary);
      const std::string text{std::istreambuf_iterator<char>(file), {}};
      run(text);
      for (std::size_t cut = 0; cut < cuts; ++cut) run(text.substr(0, text.size() * cut / cuts));
      std::mt19937 random(1);
      for (int copy = 0; copy < copies; ++copy) run(changed(text, random));
      ++files;
    }
  }
  std::cout << files << " inputs replayed\n";
  return files > 0 ? 0 : 1;
}

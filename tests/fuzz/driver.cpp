// Calls a fuzz target without libFuzzer: every seed as it is, then seeds damaged at random, the
// same ones every time.
//
// TARGET [-runs=N] FILE|FOLDER...      -runs: damaged seeds after the seeds themselves
//
// The options are libFuzzer's; others of its are ignored. Where the target ends the program, the
// input is in the file crash-TARGET of the working folder.
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

constexpr size_t kLongest = 1 << 16;

std::string current;
std::string crash_file = "crash-";

void OnCrash(int signal) {
  if (std::FILE* file = std::fopen(crash_file.c_str(), "wb")) {
    std::fwrite(current.data(), 1, current.size(), file);
    std::fclose(file);
  }
  std::fprintf(stderr, "the input is in %s\n", crash_file.c_str());
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void Run(std::string input) {
  current = std::move(input);
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(current.data()), current.size());
}

std::vector<std::string> Seeds(const std::vector<std::filesystem::path>& places) {
  std::vector<std::filesystem::path> files;
  for (const auto& place : places) {
    if (!std::filesystem::is_directory(place)) {
      files.push_back(place);
      continue;
    }
    for (const auto& entry : std::filesystem::directory_iterator(place)) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  std::vector<std::string> seeds;
  for (const auto& file : files) {
    std::ifstream stream(file, std::ios::binary);
    seeds.emplace_back(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
  }
  return seeds;
}

class Damage {
 public:
  explicit Damage(const std::vector<std::string>& seeds) : seeds_(seeds) {}

  std::string operator()() {
    std::string text = Any();
    for (size_t i = 0, count = 1 + Below(5); i < count; ++i) Once(&text);
    return text.substr(0, kLongest);
  }

 private:
  void Once(std::string* text) {
    const size_t at = Below(text->size() + 1);
    switch (Below(6)) {
      case 0:
        text->insert(at, 1, "\"'{}[]=,.:@|<>!~*/\\#\n\r\t -_09aZ\xC3\xA9\xFF"[Below(34)]);
        break;
      case 1:
        text->erase(at, 1 + Below(8));
        break;
      case 2:
        if (at < text->size()) (*text)[at] = static_cast<char>(Below(256));
        break;
      case 3: {
        const std::string part = text->substr(Below(text->size() + 1), 1 + Below(40));
        for (size_t i = 0, times = 1 + Below(3) * Below(20); i < times; ++i) text->insert(at, part);
        break;
      }
      case 4: {
        const std::string& other = Any();
        text->insert(at, other.substr(Below(other.size() + 1), 1 + Below(80)));
        break;
      }
      default: {
        // The tail of another: two halves that do not belong together.
        const std::string& other = Any();
        text->replace(at, std::string::npos, other.substr(Below(other.size() + 1)));
      }
    }
  }
  const std::string& Any() { return seeds_[Below(seeds_.size())]; }
  size_t Below(size_t bound) { return random_() % bound; }

  const std::vector<std::string>& seeds_;
  std::mt19937 random_{20240};
};

}  // namespace

int main(int argc, char** argv) {
  long runs = 0;
  std::vector<std::filesystem::path> places;
  crash_file += std::filesystem::path(argv[0]).filename().string();
  for (int i = 1; i < argc; ++i) {
    if (std::strncmp(argv[i], "-runs=", 6) == 0) {
      runs = std::atol(argv[i] + 6);
    } else if (argv[i][0] != '-') {
      places.push_back(argv[i]);
    }
  }
  std::vector<std::string> seeds = Seeds(places);
  if (seeds.empty()) {
    std::fputs("no seeds\n", stderr);
    return 2;
  }
  for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL}) std::signal(signal, OnCrash);
  for (const std::string& seed : seeds) Run(seed);
  Damage damage(seeds);
  for (long i = 0; i < runs; ++i) Run(damage());
  std::printf("%zu seeds, %ld damaged\n", seeds.size(), runs);
  return 0;
}

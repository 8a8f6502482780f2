// Which entry and which mode are chosen, as tables.
#include "compiler/select.h"

#include <gtest/gtest.h>

#include <memory>

#include "compiler/compile.h"

namespace kernelmap {
namespace {

// The text of the reference that is chosen for a target; "none" and "no mode" otherwise.
std::string Chosen(const std::string& own, const std::string& inherited, const std::string& device,
                   std::optional<Capability> capability, const std::string& mode) {
  const Loaded a = LoadConfigText("own.toml", own.empty() ? "" : "[kernel_mapping]\nA = " + own);
  const Loaded b = LoadConfigText("inherited.toml",
                                  inherited.empty() ? "" : "[kernel_mapping]\nA = " + inherited);
  EXPECT_EQ(a.errors + b.errors, 0u)
      << DiagnosticsToText(a.diagnostics, false) << DiagnosticsToText(b.diagnostics, false);
  const auto mapping = [](const Loaded& loaded) {
    return loaded.config->mappings.empty() ? nullptr : &loaded.config->mappings.front();
  };
  std::vector<const Mapping*> layers;
  if (mapping(b)) layers.push_back(mapping(b));
  const std::vector<DeviceChoice> entries = EntriesForDevice(mapping(a), layers, device);
  const DeviceChoice* choice = SmallestInterval(entries, capability);
  if (!choice) return "none";
  const ModeValue* value = FirstFittingMode(*choice->entry, mode);
  if (!value) return "no mode";
  return value->value.disabled ? "\"\"" : value->value.candidates.front().ref.name;
}

TEST(Select, Intervals) {
  const std::string own =
      R"({ cuda = "o/r:All", "cuda>=8.0" = "o/r:From80", "cuda<=9.0" = "o/r:To90",
          "cuda>=8.6,<=8.9" = "o/r:Ada", "cuda>=8.5,<=8.8" = "o/r:Lower" })";
  std::string line = own;
  for (char& c : line) c = c == '\n' ? ' ' : c;
  const auto chosen = [&](int major, int minor) {
    return Chosen(line, "", "cuda", Capability{major, minor}, "inference");
  };
  EXPECT_EQ(chosen(8, 9), "Ada");
  EXPECT_EQ(chosen(8, 5), "Lower");
  EXPECT_EQ(chosen(8, 7), "Ada");  // equally wide: the higher lower bound
  EXPECT_EQ(chosen(8, 0), "To90");
  EXPECT_EQ(chosen(9, 0), "To90");
  EXPECT_EQ(chosen(10, 0), "From80");
  EXPECT_EQ(chosen(7, 5), "To90");
  EXPECT_EQ(Chosen(line, "", "cuda", std::nullopt, "inference"), "All");
  EXPECT_EQ(Chosen(line, "", "cpu", std::nullopt, "inference"), "none");
  EXPECT_EQ(Chosen("{ \"cuda>=9.0\" = \"o/r:A\" }", "", "cuda", Capability{8, 0}, "inference"),
            "none");
}

TEST(Select, AWiderIntervalIsNeverTried) {
  EXPECT_EQ(Chosen("{ cuda = \"o/r:All\", \"cuda>=9.0\" = { training = \"o/r:T\" } }", "", "cuda",
                   Capability{9, 0}, "inference|torch_compile"),
            "no mode");
}

TEST(Select, Inheritance) {
  const std::string inherited = R"({ cuda = "o/r:I", "cuda>=9.0" = "o/r:I90", cpu = "o/r:C" })";
  const auto chosen = [&](const std::string& own, const std::string& device, int major) {
    return Chosen(own, inherited, device, Capability{major, 0}, "inference");
  };
  EXPECT_EQ(chosen("", "cuda", 8), "I");
  EXPECT_EQ(chosen("{ cuda = \"o/r:O\" }", "cuda", 8), "O");
  EXPECT_EQ(chosen("{ cuda = \"o/r:O\" }", "cuda", 9), "I90");
  EXPECT_EQ(chosen("{ cuda = \"o/r:O\" }", "cpu", 0), "C");
  EXPECT_EQ(chosen("\"o/r:O\"", "cuda", 9), "O");
  EXPECT_EQ(chosen("\"\"", "cpu", 0), "\"\"");
  EXPECT_EQ(Chosen("{ mps = \"o/r:O\" }", "\"o/r:Any\"", "cpu", std::nullopt, "inference"), "Any");
  EXPECT_EQ(
      Chosen("{ \"cuda>=9.0\" = \"o/r:O\" }", "\"o/r:Any\"", "cuda", Capability{8, 0}, "inference"),
      "Any");
}

TEST(Select, Modes) {
  struct Case {
    const char *modes, *target, *expected;
  };
  const Case cases[] = {
      {"inference = 'o/r:I', training = 'o/r:T'", "inference", "I"},
      {"training = 'o/r:T', \"inference|torch_compile\" = 'o/r:IC'", "inference", "IC"},
      {"\"training|torch_compile\" = 'o/r:TC', training = 'o/r:T'", "inference", "T"},
      {"\"training|torch_compile\" = 'o/r:TC', fallback = 'o/r:F'", "inference", "TC"},
      {"fallback = 'o/r:F'", "inference", "F"},
      {"inference = 'o/r:I'", "training", "no mode"},
      {"\"training|torch_compile\" = 'o/r:TC'", "training", "TC"},
      {"training = 'o/r:T', fallback = 'o/r:F'", "training|torch_compile", "F"},
      {"inference = 'o/r:I', training = 'o/r:T'", "inference|torch_compile", "no mode"},
      {"\"training|torch_compile\" = 'o/r:TC'", "inference|torch_compile", "TC"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(
        Chosen("{ cpu = { " + std::string(c.modes) + " } }", "", "cpu", std::nullopt, c.target),
        c.expected)
        << c.modes << " for " << c.target;
  }
  EXPECT_EQ(Chosen("'o/r:A'", "", "cpu", std::nullopt, "training|torch_compile"), "A");
}

}  // namespace
}  // namespace kernelmap

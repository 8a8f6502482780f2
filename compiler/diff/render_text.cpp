// A diff for a terminal.
#include "compiler/diff/view.h"
#include "compiler/display.h"
#include "compiler/words.h"

namespace kernelmap {
namespace {

constexpr size_t kMaxRows = 20;     // of one group of sites; JSON lists every site
constexpr size_t kMaxDetails = 20;  // of what was not compared

class Renderer {
 public:
  explicit Renderer(bool color) : color_(color) {}

  std::string Render(const DiffView& view) {
    out_ = Paint("1", Printable(view.before) + " -> " + Printable(view.after) + ": " +
                          Printable(view.summary)) +
           "\n";
    std::string target;
    for (const DiffSection& section : view.sections) {
      const bool of_target = !section.target.empty();
      if (of_target && section.target != target) {
        out_ += "for " + Printable(section.target) + "\n";
      }
      target = section.target;
      indent_ = of_target ? "  " : "";
      const bool alarm = section.kind == DiffSection::Kind::kTrust;
      out_ += indent_ + Paint(alarm ? "1;31" : "1", Printable(section.title)) + "\n";
      Rows(section);
    }
    return std::move(out_);
  }

 private:
  std::string Paint(const char* code, const std::string& text) const {
    return color_ ? "\033[" + std::string(code) + "m" + text + "\033[0m" : text;
  }

  std::string Mark(char mark) const {
    const char* code = mark == '+' ? "32" : mark == '-' ? "31" : mark == '!' ? "1;31" : "33";
    return Paint(code, std::string(1, mark));
  }

  static std::string Values(const DiffRow& row) {
    if (row.before.empty()) return Printable(row.after);
    if (row.after.empty()) return Printable(row.before);
    return Printable(row.before) + " -> " + Printable(row.after);
  }

  void Rows(const DiffSection& section) {
    if (section.kind == DiffSection::Kind::kSites) return SiteRows(section.rows);
    for (const DiffRow& row : section.rows) {
      if (section.kind == DiffSection::Kind::kUnknown) {
        Unknown(row);
        continue;
      }
      out_ += indent_ + "  " + Mark(row.mark) + " " + Printable(row.subject) + ": " + Values(row) +
              "\n";
    }
  }

  // A line for each change, and the paths that it holds for under it.
  void SiteRows(const std::vector<DiffRow>& rows) {
    for (size_t i = 0; i < rows.size();) {
      size_t end = i, sites = 0;
      while (end < rows.size() && SameChange(rows[i], rows[end])) sites += rows[end++].count;
      out_ += indent_ + "  " + Mark(rows[i].mark) + " " + Printable(rows[i].name) + ": " +
              Values(rows[i]) + ", " + CountOf(sites, "site") + "\n";
      for (size_t shown = i; shown < end && shown < i + kMaxRows; ++shown) {
        const std::string count = CountText(rows[shown]);
        out_ += indent_ + "      " + Printable(rows[shown].subject) +
                (count.empty() ? "" : " " + count) + "\n";
      }
      if (end > i + kMaxRows) {
        out_ += indent_ + "      … " + std::to_string(end - i - kMaxRows) +
                " more lines: --format json lists each site\n";
      }
      i = end;
    }
  }

  static bool SameChange(const DiffRow& a, const DiffRow& b) {
    return a.mark == b.mark && a.name == b.name && a.before == b.before && a.after == b.after;
  }

  void Unknown(const DiffRow& row) {
    out_ += "  " + row.name + ": " + Printable(row.subject);
    for (size_t i = 0; i < row.details.size() && i < kMaxDetails; ++i) {
      out_ += (i == 0 ? ": " : ", ") + Printable(row.details[i]);
    }
    if (row.details.size() > kMaxDetails) {
      out_ += " and " + std::to_string(row.details.size() - kMaxDetails) + " more";
    }
    out_ += "\n";
  }

  bool color_;
  std::string indent_;
  std::string out_;
};

}  // namespace

std::string DiffToText(const Diff& diff, bool color) {
  return Renderer(color).Render(ViewOf(diff));
}

}  // namespace kernelmap

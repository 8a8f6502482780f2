// A diff as a comment of a pull request: the summary, trust, and tables, which are folded when they
// are long. It always fits into one comment; what is left out is counted.
#include <algorithm>
#include <cctype>

#include "compiler/diff/escape.h"
#include "compiler/diff/view.h"
#include "compiler/words.h"

namespace kernelmap {
namespace {

using Kind = DiffSection::Kind;

constexpr size_t kMaxComment = 65535;  // bytes, which are at least as many as characters
constexpr size_t kReserved = 400;      // for the end of a table and the note of what is left out
constexpr size_t kFolded = 15;         // rows of a table that is shown open
constexpr size_t kMaxRows = 200;       // of one table, so that there is room for the next
constexpr size_t kMaxUnknown = 6000;   // bytes of what was not compared

class Renderer {
 public:
  std::string Render(const DiffView& view) {
    out_ = "**" + Plain(view.summary) + "** " + MarkdownCode(view.before) + " → " +
           MarkdownCode(view.after) + "\n";
    std::string unknown, target;
    for (const DiffSection& section : view.sections) {
      if (section.kind == Kind::kUnknown) unknown = Unknown(section);
    }
    limit_ = kMaxComment - kReserved - unknown.size();
    for (const DiffSection& section : view.sections) {
      if (section.kind == Kind::kUnknown) continue;
      if (!section.target.empty() && section.target != target) {
        Add("\n#### " + Plain(section.target) + "\n");
      }
      target = section.target;
      Table(section);
    }
    out_ += unknown;
    if (left_out_ > 0) {
      out_ += "\n" + CountOf(left_out_, "row") +
              " not shown, for the length of a comment: `kernelmap diff --format json` lists "
              "every change.\n";
    }
    return std::move(out_);
  }

 private:
  // Our own words, but for the target's, which come from a file.
  static std::string Plain(const std::string& text) {
    const bool ours = std::all_of(text.begin(), text.end(), [](unsigned char c) {
      return std::isalnum(c) || c == ' ' || c == ',' || c == '.' || c == ':' || c == ';';
    });
    return ours ? text : MarkdownCode(text);
  }

  // Whether there was room.
  bool Add(const std::string& text) {
    if (out_.size() + text.size() > limit_) return false;
    out_ += text;
    return true;
  }

  void Table(const DiffSection& section) {
    const bool sites = section.kind == Kind::kSites;
    const bool folded = section.rows.size() > kFolded && section.kind != Kind::kTrust;
    std::string head = folded ? "\n<details><summary>" + HtmlText(section.title) + " (" +
                                    CountOf(section.rows.size(), "row") + ")</summary>\n\n"
                              : "\n**" + Plain(section.title) + "**\n\n";
    head += sites ? "| | where | name | before | after |\n| --- | --- | --- | --- | --- |\n"
                  : "| | what | before | after |\n| --- | --- | --- | --- |\n";
    if (!Add(head)) {
      left_out_ += section.rows.size();
      return;
    }
    size_t shown = 0;
    for (const DiffRow& row : section.rows) {
      std::string line =
          "| " + MarkWord(section.kind, row.mark) + " | " + MarkdownCode(row.subject);
      const std::string count = CountText(row);
      if (!count.empty()) line += " " + count;
      if (sites) line += " | " + MarkdownCode(row.name);
      line += " | " + MarkdownCode(row.before) + " | " + MarkdownCode(row.after) + " |\n";
      if (shown < kMaxRows && Add(line)) {
        ++shown;
      } else {
        ++left_out_;
      }
    }
    if (folded) out_ += "\n</details>\n";
  }

  std::string Unknown(const DiffSection& section) {
    constexpr size_t kMaxDetails = 20;
    std::string text = "\n**" + section.title + "**\n\n";
    for (const DiffRow& row : section.rows) {
      std::string line = "- " + row.name + ": " + row.subject;
      for (size_t i = 0; i < row.details.size() && i < kMaxDetails; ++i) {
        line += (i == 0 ? ": " : ", ") + MarkdownCode(row.details[i]);
      }
      if (row.details.size() > kMaxDetails) {
        line += " and " + std::to_string(row.details.size() - kMaxDetails) + " more";
      }
      if (text.size() + line.size() < kMaxUnknown) {
        text += line + "\n";
      } else {
        ++left_out_;
      }
    }
    return text;
  }

  std::string out_;
  size_t limit_ = 0;
  size_t left_out_ = 0;
};

}  // namespace

std::string DiffToMarkdown(const Diff& diff) { return Renderer().Render(ViewOf(diff)); }

}  // namespace kernelmap

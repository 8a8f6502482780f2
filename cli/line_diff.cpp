#include "cli/line_diff.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace kernelmap {
namespace {

constexpr size_t kMaxCells = 16u << 20;  // of the table of common lines
constexpr size_t kContext = 3;

// Lines with their ends.
std::vector<std::string_view> LinesOf(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return lines;
}

struct Edit {
  char mark;  // ' ', '-', '+'
  std::string_view line;
};

// The edits of the lines that are not the same at both ends, by their longest common part.
void DiffMiddle(const std::vector<std::string_view>& a, const std::vector<std::string_view>& b,
                std::vector<Edit>* edits) {
  const size_t rows = a.size() + 1, columns = b.size() + 1;
  std::vector<uint32_t> common;
  const bool small = rows <= kMaxCells / columns;
  if (small) common.resize(rows * columns);
  for (size_t i = a.size(); small && i-- > 0;) {
    for (size_t j = b.size(); j-- > 0;) {
      common[i * columns + j] =
          a[i] == b[j] ? common[(i + 1) * columns + j + 1] + 1
                       : std::max(common[(i + 1) * columns + j], common[i * columns + j + 1]);
    }
  }
  size_t i = 0, j = 0;
  while (i < a.size() || j < b.size()) {
    if (small && i < a.size() && j < b.size() && a[i] == b[j]) {
      edits->push_back({' ', a[i++]});
      ++j;
    } else if (j >= b.size() || (i < a.size() && (!small || common[(i + 1) * columns + j] >=
                                                                common[i * columns + j + 1]))) {
      edits->push_back({'-', a[i++]});
    } else {
      edits->push_back({'+', b[j++]});
    }
  }
}

std::string Range(size_t begin, size_t count) {
  const size_t line = count == 0 ? begin : begin + 1;
  return std::to_string(line) + (count == 1 ? "" : "," + std::to_string(count));
}

std::string Hunks(const std::vector<Edit>& edits) {
  std::string text;
  size_t old_line = 0, new_line = 0;
  for (size_t at = 0; at < edits.size();) {
    if (edits[at].mark == ' ') {
      ++old_line, ++new_line, ++at;
      continue;
    }
    const size_t begin = at - std::min({at, kContext, old_line});
    size_t end = at;  // after the last edit that is near enough
    for (size_t i = at; i < edits.size() && i < end + 2 * kContext + 1; ++i) {
      if (edits[i].mark != ' ') end = i + 1;
    }
    end = std::min(end + kContext, edits.size());
    size_t olds = 0, news = 0;
    std::string body;
    for (size_t i = begin; i < end; ++i) {
      olds += edits[i].mark != '+';
      news += edits[i].mark != '-';
      body += edits[i].mark + std::string(edits[i].line);
      if (!edits[i].line.ends_with('\n')) body += "\n\\ No newline at end of file\n";
    }
    const size_t before = at - begin;
    text += "@@ -" + Range(old_line - before, olds) + " +" + Range(new_line - before, news) +
            " @@\n" + body;
    old_line += olds - before;
    new_line += news - before;
    at = end;
  }
  return text;
}

}  // namespace

std::string LineDiff(const std::string& name, std::string_view before, std::string_view after) {
  if (before == after) return "";
  std::vector<std::string_view> a = LinesOf(before), b = LinesOf(after);
  std::vector<Edit> edits;
  const size_t shorter = std::min(a.size(), b.size());
  size_t head = 0, tail = 0;
  while (head < shorter && a[head] == b[head]) ++head;
  while (tail < shorter - head && a[a.size() - 1 - tail] == b[b.size() - 1 - tail]) ++tail;
  for (size_t i = 0; i < head; ++i) edits.push_back({' ', a[i]});
  const auto middle = [&](const std::vector<std::string_view>& lines) {
    return std::vector<std::string_view>(lines.begin() + static_cast<std::ptrdiff_t>(head),
                                         lines.end() - static_cast<std::ptrdiff_t>(tail));
  };
  DiffMiddle(middle(a), middle(b), &edits);
  for (size_t i = a.size() - tail; i < a.size(); ++i) edits.push_back({' ', a[i]});
  return "--- " + name + "\n+++ " + name + "\n" + Hunks(edits);
}

}  // namespace kernelmap

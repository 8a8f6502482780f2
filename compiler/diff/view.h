// A diff as people read it, before it is text, Markdown or HTML: a summary line and sections of
// rows. Equal changes of many sites are one row a shape of path.
//
// Texts are as in the inputs: each rendering escapes them, and makes them printable.
#pragma once

#include <string>
#include <vector>

#include "compiler/diff/diff.h"

namespace kernelmap {

struct DiffRow {
  char mark = '~';      // + added or widened, - removed or narrowed, ~ changed, ! newly a fallback
  std::string subject;  // a name, a setting, a path or shape of paths, a sentence
  std::string name;     // of sites: the name they are mapped by; of what was not compared: what
  std::string before, after;         // "": there was, or is, nothing
  size_t count = 1, total = 1;       // of sites: how many this row is, and how many have the shape
  std::vector<std::string> details;  // of what was not compared: which
};

struct DiffSection {
  enum class Kind { kTrust, kSettings, kTarget, kNames, kSites, kUnknown };
  Kind kind = Kind::kTrust;
  std::string title;   // "trust widened", "names"
  std::string target;  // that it is about; "" of all
  std::vector<DiffRow> rows;
};

struct DiffView {
  std::string before, after;  // the operands
  std::string summary;        // "2 names and 9 sites changed, 5 sites newly fall back"
  std::vector<DiffSection> sections;
};

/// Trust first, then settings, each target's names and sites, and what was not compared.
DiffView ViewOf(const Diff& diff);

/// "added", "widened", "fallback".
std::string MarkWord(DiffSection::Kind kind, char mark);

/// "(4)", "(2 of 4)"; empty for one.
std::string CountText(const DiffRow& row);

}  // namespace kernelmap

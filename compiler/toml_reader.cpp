// TOML through toml++, which stops here. It stops at the first key that is there twice, and does
// not say where the key was first. So such keys get names of their own, and the text is read again:
// then all of them are known, and where the others are.
#include <toml++/toml.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "compiler/document.h"
#include "compiler/toml_scan.h"

namespace kernelmap {
namespace {

// Each duplicate costs another reading: so many are looked for, in large files fewer.
constexpr size_t kMaxDuplicates = 20;
constexpr size_t kMaxReread = 4u << 20;  // bytes

// The text that is parsed: the source's, with other names for duplicate keys.
class ParsedText {
 public:
  explicit ParsedText(std::string_view original)
      : source_(std::make_unique<Source>("", std::string(original))) {
    while (original.find(prefix_) != std::string_view::npos) prefix_ += "-";
  }

  std::string_view text() const { return source_->text(); }
  std::string_view Line(int line) const { return source_->Line(line); }

  /// The offset, in this text, of a place that toml++ gives.
  size_t OffsetOf(const toml::source_position& at) const {
    return source_->Offset({static_cast<int>(at.line), static_cast<int>(at.column)});
  }

  /// The offset in the original of an offset in this text.
  size_t Original(size_t offset) const {
    size_t shift = 0;  // how much longer the texts before are; keys only grow
    for (const Renamed& key : renamed_) {
      if (offset <= key.begin) break;
      shift = key.shift + key.grown;
      if (offset < key.end) return key.begin - key.shift;
    }
    return offset - shift;
  }

  /// Gives a key (of this text, behind those renamed before) a name that no other has.
  void Rename(Span key) {
    const std::string name = prefix_ + std::to_string(renamed_.size());
    std::string text(source_->text());
    const size_t shift = renamed_.empty() ? 0 : renamed_.back().shift + renamed_.back().grown;
    renamed_.push_back({key.begin,
                        key.begin + name.size(),
                        shift,
                        name.size() - (key.end - key.begin),
                        {key.begin - shift, key.end - shift},
                        text.substr(key.begin, key.end - key.begin)});
    text.replace(key.begin, key.end - key.begin, name);
    source_ = std::make_unique<Source>("", std::move(text));
  }

  struct Renamed {
    size_t begin, end;    // in this text
    size_t shift, grown;  // of what is before, of the key itself; modulo the size of size_t
    Span original;
    std::string text;  // as it was written
  };
  const std::vector<Renamed>& renamed() const { return renamed_; }
  bool IsRenamed(std::string_view key) const { return key.starts_with(prefix_); }
  std::string NameOf(size_t index) const { return prefix_ + std::to_string(index); }

 private:
  std::unique_ptr<Source> source_;
  std::string prefix_ = "kernelmap-duplicate-";
  std::vector<Renamed> renamed_;
};

class Converter {
 public:
  Converter(const ParsedText& parsed, Diagnostics* diagnostics)
      : source_(*diagnostics->source()), parsed_(parsed), diagnostics_(diagnostics) {}

  bool refused() const { return refused_; }

  Span SpanOf(const toml::source_region& region) const {
    if (!region.begin) return {};
    const size_t begin = parsed_.Original(parsed_.OffsetOf(region.begin));
    if (!region.end) return {begin, begin};
    return {begin, std::max(begin, parsed_.Original(parsed_.OffsetOf(region.end)))};
  }

  Node Convert(const toml::node& from, Span fallback, int depth) {
    Node node;
    node.span = SpanOf(from.source());
    if (node.span.begin == node.span.end) node.span = fallback;
    if (refused_) return node;
    if (depth > kMaxDepth) {
      diagnostics_->Report<Diag::TooDeep>(node.span, kMaxDepth);
      refused_ = true;
      return node;
    }
    if (++values_ > kMaxValues) {
      diagnostics_->Report<Diag::TooMany>(node.span, kMaxValues);
      refused_ = true;
      return node;
    }
    if (const auto* table = from.as_table()) {
      node.kind = Node::Kind::kTable;
      node.members.reserve(table->size());
      for (const auto& [span, key, value] : InOrder(*table)) {
        Member& member = node.members.emplace_back();
        member.key = std::string(key->str());
        member.key_span = span;
        Quotes(member.key, member.key_span, &member.verbatim, &member.inside);
        member.value = Convert(*value, member.key_span, depth + 1);
      }
    } else if (const auto* array = from.as_array()) {
      node.kind = Node::Kind::kArray;
      node.items.reserve(array->size());
      for (const toml::node& item : *array) {
        node.items.push_back(Convert(item, node.span, depth + 1));
      }
    } else if (const auto* text = from.as_string()) {
      node.kind = Node::Kind::kString;
      node.text = text->get();
      Quotes(node.text, node.span, &node.verbatim, &node.inside);
    } else if (const auto* integer = from.as_integer()) {
      node.kind = Node::Kind::kInteger;
      node.integer = integer->get();
    } else if (const auto* number = from.as_floating_point()) {
      node.kind = Node::Kind::kFloat;
      node.number = number->get();
    } else if (const auto* boolean = from.as_boolean()) {
      node.kind = Node::Kind::kBool;
      node.boolean = boolean->get();
    } else {
      node.kind = Node::Kind::kDate;
    }
    return node;
  }

 private:
  // toml++ keeps a table sorted by key.
  struct Entry {
    Span span;  // of the key
    const toml::key* key;
    const toml::node* value;
  };
  std::vector<Entry> InOrder(const toml::table& table) const {
    std::vector<Entry> entries;
    entries.reserve(table.size());
    for (const auto& [key, value] : table) {
      if (!parsed_.IsRenamed(key.str())) entries.push_back({SpanOf(key.source()), &key, &value});
    }
    std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
      return std::pair(a.span, a.key->str()) < std::pair(b.span, b.key->str());
    });
    return entries;
  }

  // Finds the decoded `text` within a span that may have quotes around it; behind three of them
  // the end of a line does not count.
  void Quotes(const std::string& text, Span span, bool* verbatim, Span* inside) const {
    constexpr std::pair<std::string_view, size_t> kForms[] = {
        {"", 0},         {"\"", 1},    {"'", 1},          {"\"\"\"", 3}, {"'''", 3},
        {"\"\"\"\n", 3}, {"'''\n", 3}, {"\"\"\"\r\n", 3}, {"'''\r\n", 3}};
    const std::string_view raw = source_.Slice(span);
    for (const auto& [open, close] : kForms) {
      if (raw.size() != open.size() + text.size() + close) continue;
      if (!raw.starts_with(open) || raw.substr(open.size(), text.size()) != text) continue;
      *verbatim = true;
      *inside = {span.begin + open.size(), span.end - close};
      return;
    }
    *inside = span;
  }

  const Source& source_;
  const ParsedText& parsed_;
  Diagnostics* diagnostics_;
  int values_ = 0;
  bool refused_ = false;
};

// An unquoted key such as cuda>=8.0 is the likeliest mistake in a config.
std::string HelpForError(std::string_view line) {
  const size_t equals = line.find('=');
  const size_t bound = line.find_first_of("<>!");
  if (bound == std::string_view::npos) return "";
  if (equals != std::string_view::npos && equals + 1 < bound) return "";
  size_t begin = line.find_first_not_of(" \t{");
  if (begin == std::string_view::npos || line[begin] == '[' || line[begin] == '"') return "";
  return "a key with bounds needs quotes: \"cuda>=8.0\" = …";
}

std::string FirstLower(std::string_view text) {
  std::string lower(text);
  if (lower.size() > 1 && lower[0] >= 'A' && lower[0] <= 'Z' && lower[1] >= 'a') {
    lower[0] = static_cast<char>(lower[0] - 'A' + 'a');
  }
  return lower;
}

// The table, anywhere below `node`, that has the key.
const toml::table* TableWith(const toml::node& node, std::string_view key) {
  if (const toml::table* table = node.as_table()) {
    if (table->contains(key)) return table;
    for (const auto& [name, value] : *table) {
      if (const toml::table* found = TableWith(value, key)) return found;
    }
  } else if (const toml::array* array = node.as_array()) {
    for (const toml::node& item : *array) {
      if (const toml::table* found = TableWith(item, key)) return found;
    }
  }
  return nullptr;
}

// The parts of a key, which may be dotted and quoted; nothing where it is no key.
std::vector<std::string> KeyParts(const std::string& key) {
  std::vector<std::string> parts;
  try {
    const toml::table parsed = toml::parse(key + " = 0");
    for (const toml::table* table = &parsed; table && !table->empty();) {
      const auto first = table->begin();
      parts.emplace_back(first->first.str());
      table = first->second.as_table();
    }
  } catch (const toml::parse_error&) {
    parts.clear();
  }
  return parts;
}

// What the key of this path collides with in `table`.
const toml::key* FirstPlace(const toml::table* table, const std::vector<std::string>& path) {
  const toml::key* place = nullptr;
  for (const std::string& part : path) {
    const auto found = table ? table->find(part) : toml::table::const_iterator();
    if (!table || found == table->end()) break;
    place = &found->first;
    const toml::array* array = found->second.as_array();
    table = array && !array->empty() ? array->back().as_table() : found->second.as_table();
  }
  return place;
}

// `root` may be null: then where the keys were first is not known.
void ReportDuplicates(const ParsedText& parsed, const toml::table* root, const Converter& converter,
                      Diagnostics* diagnostics) {
  for (size_t i = 0; i < parsed.renamed().size(); ++i) {
    const ParsedText::Renamed& key = parsed.renamed()[i];
    const std::vector<std::string> parts = KeyParts(key.text);
    std::string name;
    for (const std::string& part : parts) name += (name.empty() ? "" : ".") + part;
    auto addition =
        diagnostics->Report<Diag::DuplicateKey>(key.original, parts.empty() ? key.text : name);
    if (!root) continue;
    const toml::table* table = TableWith(*root, parsed.NameOf(i));
    const toml::key* place = table ? FirstPlace(table, parts) : nullptr;
    if (place) addition.Note(converter.SpanOf(place->source()), "first here");
  }
}

// Of a text that is not TOML from a line on, what is before.
std::optional<toml::table> TableBefore(const ParsedText& parsed, int line) {
  try {
    const size_t end = static_cast<size_t>(parsed.Line(line).data() - parsed.text().data());
    return toml::parse(parsed.text().substr(0, end));
  } catch (const toml::parse_error&) {
    return std::nullopt;
  }
}

void ReportSyntax(const ParsedText& parsed, const toml::parse_error& error,
                  Diagnostics* diagnostics) {
  const std::string_view text = diagnostics->source()->text();
  const size_t begin = parsed.Original(parsed.OffsetOf(error.source().begin));
  const bool at_end = begin >= text.size() || text[begin] == '\n' || text[begin] == '\r';
  diagnostics
      ->Report<Diag::TomlSyntax>({begin, at_end ? begin : begin + 1},
                                 FirstLower(error.description()))
      .Help(HelpForError(parsed.Line(static_cast<int>(error.source().begin.line))));
}

}  // namespace

std::optional<Node> ReadToml(Diagnostics* diagnostics) {
  const std::string_view text = diagnostics->source()->text();
  if (!TomlWithinLimits(text, diagnostics)) return std::nullopt;
  ParsedText parsed(text);
  Converter converter(parsed, diagnostics);
  while (true) {
    try {
      const toml::table table = toml::parse(parsed.text());
      ReportDuplicates(parsed, &table, converter, diagnostics);
      Node root = converter.Convert(table, {0, 0}, 0);
      if (converter.refused()) return std::nullopt;
      return root;
    } catch (const toml::parse_error& error) {
      const bool duplicate =
          error.description().find("cannot redefine existing") != std::string_view::npos;
      const std::optional<Span> key =
          duplicate ? TomlKeyAt(parsed.text(), parsed.OffsetOf(error.source().begin))
                    : std::nullopt;
      const size_t reread = (parsed.renamed().size() + 1) * text.size();
      if (key && parsed.renamed().size() < kMaxDuplicates && reread <= kMaxReread) {
        parsed.Rename(*key);
        continue;
      }
      if (!parsed.renamed().empty()) {
        const auto before = TableBefore(parsed, static_cast<int>(error.source().begin.line));
        ReportDuplicates(parsed, before ? &*before : nullptr, converter, diagnostics);
      }
      if (!key || parsed.renamed().empty()) ReportSyntax(parsed, error, diagnostics);
      return std::nullopt;
    }
  }
}

}  // namespace kernelmap

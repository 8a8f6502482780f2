#include "compiler/toml_format.h"

#include <algorithm>
#include <vector>

#include "compiler/toml_scan.h"

namespace kernelmap {
namespace {

bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

std::string Trimmed(std::string_view text) {
  while (!text.empty() && IsBlank(text.back())) text.remove_suffix(1);
  while (!text.empty() && IsBlank(text.front())) text.remove_prefix(1);
  return std::string(text);
}

size_t Width(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

struct Item;

// A value as written. Its recursion is bounded: so is that of the texts that are read.
struct Value {
  enum class Kind { kAtom, kList, kTable } kind = Kind::kAtom;
  std::string atom;
  std::vector<Item> items;
  std::vector<std::string> end_comments;  // after the last item of a list
  bool broken = false;                    // a list over several lines
};

struct Item {
  std::vector<std::string> comments;  // above it
  std::string key;                    // in a table
  Value value;
  std::string behind;  // the comment on its line
};

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  bool AtEnd() const { return at_ >= text_.size(); }
  char Peek() const { return AtEnd() ? '\n' : text_[at_]; }
  void Skip() { ++at_; }
  void SkipBlanks() {
    while (!AtEnd() && IsBlank(text_[at_])) ++at_;
  }

  std::string Comment() {
    const size_t end = std::min(text_.find('\n', at_), text_.size());
    const std::string comment = Trimmed(text_.substr(at_, end - at_));
    at_ = end;
    return comment;
  }

  /// A key up to `stop`, its parts joined by dots without white space.
  std::string Key(char stop) {
    std::string key;
    while (!AtEnd() && text_[at_] != stop && text_[at_] != '\n') {
      const size_t begin = at_;
      const bool quoted = text_[at_] == '"' || text_[at_] == '\'';
      at_ = quoted ? TomlAfterString(text_, at_) : at_ + 1;
      if (quoted || !IsBlank(text_[begin])) key += text_.substr(begin, at_ - begin);
    }
    return key;
  }

  Value ReadValue() {
    SkipBlanks();
    if (Peek() == '[') return List();
    if (Peek() == '{') return Table();
    Value value;
    const size_t begin = at_;
    if (Peek() == '"' || Peek() == '\'') {
      at_ = TomlAfterString(text_, at_);
      value.atom = text_.substr(begin, at_ - begin);
      return value;
    }
    at_ = std::min(text_.find_first_of(",]}#\n", at_), text_.size());
    value.atom = Trimmed(text_.substr(begin, at_ - begin));
    return value;
  }

 private:
  Value List() {
    Value list;
    list.kind = Value::Kind::kList;
    std::vector<std::string> comments;
    bool behind = false;  // whether a comment would be on the line of the last item
    for (Skip(); !AtEnd() && Peek() != ']';) {
      const char c = Peek();
      if (IsBlank(c) || c == ',') {
        Skip();
      } else if (c == '\n') {
        list.broken = true;
        behind = false;
        Skip();
      } else if (c == '#') {
        list.broken = true;
        if (behind) {
          list.items.back().behind = Comment();
        } else {
          comments.push_back(Comment());
        }
        behind = false;
      } else {
        Item item;
        item.comments.swap(comments);
        item.value = ReadValue();
        list.items.push_back(std::move(item));
        behind = true;
      }
    }
    Skip();
    list.end_comments = std::move(comments);
    if (list.items.empty() && list.end_comments.empty()) list.broken = false;
    return list;
  }

  Value Table() {
    Value table;
    table.kind = Value::Kind::kTable;
    for (Skip(); !AtEnd() && Peek() != '}';) {
      if (IsBlank(Peek()) || Peek() == ',' || Peek() == '\n') {
        Skip();
        continue;
      }
      Item item;
      item.key = Key('=');
      Skip();
      item.value = ReadValue();
      table.items.push_back(std::move(item));
    }
    Skip();
    return table;
  }

  std::string_view text_;
  size_t at_ = 0;
};

std::string Render(const Value& value, size_t indent);

std::string RenderBroken(const Value& list, size_t indent) {
  const std::string inner(indent + 2, ' ');
  std::string text = "[\n";
  for (const Item& item : list.items) {
    for (const std::string& comment : item.comments) text += inner + comment + "\n";
    text += inner + Render(item.value, indent + 2) + ",";
    text += (item.behind.empty() ? "" : "  " + item.behind) + "\n";
  }
  for (const std::string& comment : list.end_comments) text += inner + comment + "\n";
  return text + std::string(indent, ' ') + "]";
}

std::string Render(const Value& value, size_t indent) {
  if (value.kind == Value::Kind::kAtom) return value.atom;
  if (value.broken) return RenderBroken(value, indent);
  const bool table = value.kind == Value::Kind::kTable;
  std::string text;
  for (const Item& item : value.items) {
    text +=
        (text.empty() ? "" : ", ") + (table ? item.key + " = " : "") + Render(item.value, indent);
  }
  if (!table) return "[" + text + "]";
  return text.empty() ? "{}" : "{ " + text + " }";
}

// Breaks a list that makes a line too long: the value itself, or those right in a table.
void Break(Value* value) {
  if (value->kind == Value::Kind::kList && !value->items.empty()) value->broken = true;
  if (value->kind != Value::Kind::kTable) return;
  for (Item& item : value->items) {
    if (item.value.kind == Value::Kind::kList && !item.value.items.empty()) {
      item.value.broken = true;
    }
  }
}

std::string Assignment(const std::string& key, Value value) {
  std::string line = key + " = " + Render(value, 0);
  if (line.find('\n') == std::string::npos && Width(line) > kFormatWidth) {
    Break(&value);
    line = key + " = " + Render(value, 0);
  }
  return line;
}

// Lines as they come, with the empty lines that belong between them.
class Writer {
 public:
  void Empty() {
    if (!pending_.empty()) Flush(false);
    empty_ = true;
  }
  void Comment(std::string comment) { pending_.push_back(std::move(comment)); }
  void Line(const std::string& line, bool header) {
    Flush(header);
    text_ += line + "\n";
  }
  std::string Finish() {
    if (!pending_.empty()) Flush(false);
    return std::move(text_);
  }

 private:
  // Writes the comments that stand right above what comes.
  void Flush(bool header) {
    if ((header || empty_) && !text_.empty()) text_ += "\n";
    empty_ = false;
    for (const std::string& comment : pending_) text_ += comment + "\n";
    pending_.clear();
  }

  std::string text_;
  std::vector<std::string> pending_;
  bool empty_ = false;
};

}  // namespace

std::string FormatToml(std::string_view text) {
  Reader reader(text);
  Writer writer;
  while (!reader.AtEnd()) {
    reader.SkipBlanks();
    if (reader.AtEnd()) break;
    if (reader.Peek() == '\n') {
      reader.Skip();
      writer.Empty();
      continue;
    }
    if (reader.Peek() == '#') {
      writer.Comment(reader.Comment());
      reader.Skip();
      continue;
    }
    std::string line;
    const bool header = reader.Peek() == '[';
    if (header) {
      reader.Skip();
      const bool list = reader.Peek() == '[';
      if (list) reader.Skip();
      line = (list ? "[[" : "[") + reader.Key(']') + (list ? "]]" : "]");
      reader.Skip();
      if (list) reader.Skip();
    } else {
      const std::string key = reader.Key('=');
      reader.Skip();
      line = Assignment(key, reader.ReadValue());
    }
    reader.SkipBlanks();
    if (reader.Peek() == '#') line += "  " + reader.Comment();
    reader.Skip();
    writer.Line(line, header);
  }
  return writer.Finish();
}

bool SameDocument(const Node& a, std::string_view a_text, const Node& b, std::string_view b_text) {
  const auto written = [](const Node& node, std::string_view text) {
    return text.substr(node.span.begin, node.span.end - node.span.begin);
  };
  if (a.kind != b.kind || a.boolean != b.boolean || a.integer != b.integer || a.text != b.text ||
      a.items.size() != b.items.size() || a.members.size() != b.members.size()) {
    return false;
  }
  if ((a.Is(Node::Kind::kFloat) || a.Is(Node::Kind::kDate)) &&
      written(a, a_text) != written(b, b_text)) {
    return false;
  }
  for (size_t i = 0; i < a.items.size(); ++i) {
    if (!SameDocument(a.items[i], a_text, b.items[i], b_text)) return false;
  }
  for (size_t i = 0; i < a.members.size(); ++i) {
    if (a.members[i].key != b.members[i].key ||
        !SameDocument(a.members[i].value, a_text, b.members[i].value, b_text)) {
      return false;
    }
  }
  return true;
}

std::string TomlComments(std::string_view text) {
  std::string comments;
  for (size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '"' || c == '\'') {
      at = TomlAfterString(text, at);
    } else if (c == '#') {
      const size_t end = std::min(text.find('\n', at), text.size());
      comments += Trimmed(text.substr(at, end - at)) + "\n";
      at = end;
    } else {
      ++at;
    }
  }
  return comments;
}

}  // namespace kernelmap

// Reads one layout expression a line from standard input, as a binding would hold them, and prints
// each in its one form; what is wrong with one goes to standard error. For the golden cases.
#include <cstdio>
#include <iostream>
#include <iterator>

#include "compiler/layout.h"

int main() {
  const std::string text(std::istreambuf_iterator<char>(std::cin), {});
  kernelmap::Diagnostics diagnostics(std::make_shared<kernelmap::Source>("layouts", text));
  const kernelmap::SubText all = kernelmap::SubText::OfSource(*diagnostics.source());
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    if (const auto layout = kernelmap::ParseLayout(all.Part(begin, end), &diagnostics)) {
      std::cout << layout->Text() << "\n";
    }
    begin = end + 1;
  }
  std::cerr << kernelmap::DiagnosticsToText(diagnostics.list(), false);
  return diagnostics.errors() > 0 ? 1 : 0;
}

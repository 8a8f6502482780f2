// `attn_implementation`: what transformers' words mean for a rewritten model, or a reference.
#include <algorithm>
#include <utility>

#include "compiler/bind.h"
#include "compiler/suggest.h"

namespace kernelmap {
namespace {

// A rewritten archive cannot import a Python package, so flash attention is always the Hub kernel
// that transformers takes where the package is missing.
// Facts: transformers 5.17, src/transformers/modeling_flash_attention_utils.py.
struct Word {
  const char* word;
  const char* kernel;       // "": stock attention stays as it is
  const char* rocm_kernel;  // null: the same
};
constexpr Word kWords[] = {
    {"eager", "", nullptr},
    {"sdpa", "builtin:sdpa", nullptr},
    {"flash_attention_2", "kernels-community/flash-attn2", nullptr},
    {"flash_attention_3", "kernels-community/vllm-flash-attn3",
     "kernels-community/aiter-flash-attn"},
    {"flash_attention_4", "kernels-community/flash-attn4", nullptr},
};

Value KernelValue(const char* ref, Span span) {
  Value value;
  value.span = span;
  if (*ref == '\0') {
    value.disabled = true;
    return value;
  }
  Diagnostics none(std::make_shared<Source>("", ref));
  Candidate candidate;
  candidate.ref = *ParseKernelRef(SubText::OfSource(*none.source()), &none);
  candidate.span = span;
  value.candidates.push_back(std::move(candidate));
  return value;
}

DeviceEntry EntryFor(std::optional<DeviceSelector> selector, Value value) {
  const Span span = value.span;
  return {std::move(selector), span, {{std::nullopt, span, std::move(value)}}};
}

}  // namespace

void BindAttention(const Member& member, Config* config, Diagnostics* diagnostics) {
  const std::optional<std::string> text = BindText(member, diagnostics);
  if (!text) return;
  const Span span = member.value.span;
  Mapping mapping{"attention", member.key_span, {}};
  const auto word = std::find_if(std::begin(kWords), std::end(kWords),
                                 [&](const Word& other) { return other.word == *text; });
  if (word != std::end(kWords)) {
    mapping.entries.push_back(EntryFor(std::nullopt, KernelValue(word->kernel, span)));
    if (word->rocm_kernel) {
      mapping.entries.push_back(
          EntryFor(DeviceSelector{"rocm", {}}, KernelValue(word->rocm_kernel, span)));
    }
  } else if (text->find_first_of("/:@") == std::string::npos) {
    std::vector<std::string> words;
    for (const Word& other : kWords) words.push_back(other.word);
    diagnostics->Report<Diag::UnknownValue>(span, *text, member.key)
        .Help(DidYouMeanOneOf(*text, words));
  } else if (std::optional<Value> value = BindValue(member.value, "attention", diagnostics)) {
    mapping.entries.push_back(EntryFor(std::nullopt, std::move(*value)));
  }
  config->attn_implementation = std::move(mapping);
}

}  // namespace kernelmap

// A binding that a kernel repository brings along: untrusted text, held against the catalogue.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "compiler/binding.h"
#include "compiler/catalogue.h"
#include "compiler/report.h"

namespace kernelmap {

/// What is wrong with the binding: another repository's; a layer or form of one that the catalogue
/// does not have; code whose parameters or results are not those of the form. "" when nothing is.
/// `repo`: whose build it lies in; "" of a local one, which may be called anything.
std::string BindingProblem(const Binding& binding, std::string_view repo,
                           const Catalogue& catalogue);

/// Reads the text of a kernelmap.toml into `binding`, and holds it against the catalogue. The
/// reason, `bad_metadata`, where something is wrong with it.
std::optional<Reason> ReadOwnBinding(const std::string& text, std::string_view repo,
                                     const Catalogue& catalogue, std::optional<Binding>* binding);

}  // namespace kernelmap

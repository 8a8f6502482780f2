// A binding that a kernel repository brings along: untrusted text, held against the catalogue.
#pragma once

#include <string>
#include <string_view>

#include "compiler/binding.h"
#include "compiler/catalogue.h"

namespace kernelmap {

/// What is wrong with the binding: another repository's; a layer or form of one that the catalogue
/// does not have; code whose parameters or results are not those of the form. "" when nothing is.
/// `repo`: whose build it lies in; "" of a local one, which may be called anything.
std::string BindingProblem(const Binding& binding, std::string_view repo,
                           const Catalogue& catalogue);

}  // namespace kernelmap

// A plan that names every layer of the catalogue, whatever the default mapping holds.
#pragma once

#include "compiler/plan.h"

namespace kernelmap {

Plan PlanForAll();

}  // namespace kernelmap

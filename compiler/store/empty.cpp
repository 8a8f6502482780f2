#include "compiler/store.h"

namespace kernelmap {

StoreAnswer EmptyStore(const StoreRequest& request) {
  const std::string what = request.ref.kind == KernelRef::Kind::kLocal
                               ? "local kernel `" + request.label + "`"
                               : "`" + request.ref.repo + "@" + request.revision + "`";
  StoreAnswer answer;
  answer.reason = Reason{"not_found", what + " is not in the store", ""};
  answer.steps.push_back({"present", false, answer.reason->text});
  return answer;
}

}  // namespace kernelmap

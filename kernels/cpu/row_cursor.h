// Walking the rows of kernels/cpu/rows.h, for *_loops.cpp only.
#pragma once

#include "kernels/cpu/rows.h"

namespace kernelmap::KM_ISA {

/// The offset of each operand's row, in elements, row after row.
class RowCursor {
 public:
  RowCursor(const Rows& rows, int64_t row) : rows_(rows) {
    for (int d = rows.dims - 1; d >= 0; --d) {
      index_[d] = row % rows.size[d];
      row /= rows.size[d];
      for (int o = 0; o < kMaxRowOperands; ++o) offset_[o] += index_[d] * rows.stride[o][d];
    }
  }
  int64_t offset(int operand) const { return offset_[operand]; }
  void Next() {
    for (int d = rows_.dims - 1; d >= 0; --d) {
      for (int o = 0; o < kMaxRowOperands; ++o) offset_[o] += rows_.stride[o][d];
      if (++index_[d] < rows_.size[d]) return;
      for (int o = 0; o < kMaxRowOperands; ++o) offset_[o] -= rows_.size[d] * rows_.stride[o][d];
      index_[d] = 0;
    }
  }

 private:
  const Rows& rows_;
  int64_t index_[kMaxRowDims] = {};
  int64_t offset_[kMaxRowOperands] = {};
};

}  // namespace kernelmap::KM_ISA

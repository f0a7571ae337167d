// frontend/sema/Tensors.h - `bf16 [jagged offsets, 4 heads, 128] = rotary(sinu, interleaved)` (internal to sema)
#pragma once

#include "frontend/ast/Diagnostics.h"
#include "frontend/sema/Spec.h"

namespace fovea::sema {

/// The tensor that a field declares for each of its names; none when the type cannot be read.
std::optional<Tensor> analyzeTensor(const ast::Field &field, Diagnostics &diagnostics);

/// A whole number that an expression of literals stands for, `-3` included; none (and no message) otherwise.
std::optional<int64_t> wholeNumber(const ast::Expr &expr);

/// What q, k and v must agree on. Null for one that is missing or broken.
void checkTensors(const Tensor *q, const Tensor *k, const Tensor *v, Diagnostics &diagnostics);

} // namespace fovea::sema

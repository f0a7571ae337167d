// dialect/Attn/TensorOps.td - ops on tensors: prologues, epilogues, reductions, and what stands inside regions
#ifndef FOVEA_ATTN_TENSOR_OPS
#define FOVEA_ATTN_TENSOR_OPS

include "dialect/Attn/AttnTypes.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

//===-- prologues -------------------------------------------------------------------------------------------===//

def Attn_RotaryOp : Attn_Op<"rotary", [Pure]> {
  let summary = "rotary position embedding, or its transpose";
  let description = [{
    Rotates pairs of features by the angles of a table whose row holds the D/2 sines, then the D/2 cosines; all heads
    share it (Su et al., RoFormer, arXiv:2104.09864). Pair m is features (2m, 2m + 1) when `interleaved`, (m, m + D/2)
    when `halves`:
    y0 = x0·cos - x1·sin, y1 = x1·cos + x0·sin. With `transpose`, sin changes its sign.
    The table's row is the token's: `ROWS x D`, or the position's: `? x D`.

    With `applied` the caller has rotated the operand already: the value is the operand itself, but gradients are
    taken with respect to the un-rotated tensor.

    Constraints: `attn.rotary-C1`: x is floating rows x heads x features, and the result differs from it at most in the
    element type. `attn.rotary-C2`: features are even. `attn.rotary-C3`: the table is bf16, f16 or f32, and either the
    rows of x (or `?`) x the features of x. `attn.rotary-C4`: `applied` and `transpose` exclude each other.
  }];
  let arguments = (ins Attn_Tensor:$x, Attn_Tensor:$table, Attn_RotaryStyleAttr:$style, UnitAttr:$applied,
                       UnitAttr:$transpose);
  let results = (outs Attn_Tensor:$result);
  let assemblyFormat = [{
    $x `,` $table `` $style (`applied` $applied^)? (`transpose` $transpose^)? attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Attn_RotaryTableGradOp : Attn_Op<"rotary_table_grad", [Pure]> {
  let summary = "the gradient of a rotary embedding by its table";
  let description = [{
    With g the gradient of y = `attn.rotary` x: dsin[m] = Σ g1·x0 - g0·x1 and dcos[m] = Σ g0·x0 + g1·x1, over all heads and
    all rows that use a row of the table: one where the table has a row per token, those at its position in every
    sequence where it has one per position. A row that none uses is 0. `like` is the table, of which only the shape
    is read.

    - `attn.rotary_table_grad-C1`: x and gradient are floating rows x heads x features of one shape, with an even number of
      features, and the table fits x as that of `attn.rotary` does.
    - `attn.rotary_table_grad-C2`: the result has the shape of `like`.
  }];
  let arguments = (ins Attn_Tensor:$x, Attn_Tensor:$gradient, Attn_Tensor:$like, Attn_RotaryStyleAttr:$style);
  let results = (outs Attn_Tensor:$result);
  let assemblyFormat = [{
    $x `,` $gradient `like` $like `` $style attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Attn_DequantOp : Attn_Op<"dequant", [Pure]> {
  let summary = "the values of a microscaled fp8 tensor (mxfp8)";
  let description = [{
    x = data · scale, where 32 consecutive elements share an e8m0 scale (OCP Microscaling Formats v1.0), along the axis
    that the product contracts: along the features for q and k (scales `ROWS x heads x D/32`), along the keys of the
    own sequence for v (scales `blocks(32, ROWS) x heads x D`).

    Constraints: `attn.dequant-C1`: data is rows x heads x features of f8E4M3FN, scales are f8E8M0FNU.
    `attn.dequant-C2`: the scales have one of the two shapes above. `attn.dequant-C3`: the result is f32 with the
    axes of the data.
  }];
  let arguments = (ins Attn_Tensor:$data, Attn_Tensor:$scales);
  let results = (outs Attn_Tensor:$result);
  let assemblyFormat = "$data `,` $scales attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    static constexpr int64_t kBlock = 32;
    /// True when a scale belongs to 32 rows of one feature (v), false when to 32 features of one row (q, k).
    bool isAlongRows();
  }];
}

//===-- epilogues and reductions ----------------------------------------------------------------------------===//

def Attn_MapElementsOp : Attn_Op<"map_elements", [Pure, SingleBlock,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "a scalar expression for each element of rows x heads x features";
  let description = [{
    Epilogues and their derivatives. The region sees one f32 per operand, then (i, h, d, b, n), all i64: position in
    the sequence, head, feature, sequence, and the rows of the sequence; it yields an f32.

    ```mlir
    %y = attn.map_elements %o : (!O) -> !O {
    ^bb0(%x: f32, %i: i64, %h: i64, %d: i64, %b: i64, %n: i64):
      %g = attn.lookup %gate[%i, %h, %d] : !G -> f32
      %z = arith.mulf %x, %g : f32
      attn.result %z : f32
    }
    ```
    Constraints: `attn.map_elements-C1`: operands and result are rows x heads x features of one shape.
    `attn.map_elements-C2`: the block's arguments are as above. `attn.map_elements-C3`: it ends in `attn.result` of one
    f32. `attn.map_elements-C4`: it holds only arith and math ops and `attn.lookup`.
  }];
  let arguments = (ins Variadic<Attn_Tensor>:$inputs);
  let results = (outs Attn_Tensor:$result);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$inputs attr-dict `:` functional-type($inputs, $result) $body";
  let hasVerifier = 1;
}

def Attn_ScatterAddOp : Attn_Op<"scatter_add", [Pure, SingleBlock,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "sums an expression into a table: the transpose of a look-up";
  let description = [{
    For each present pair (operands are pairs: region arguments as in `attn.map_pairs`) or element (operands are
    tensors: as in `attn.map_elements`) adds a value to one entry of the result, which starts as 0 and has the shape of
    the table `like`. Sums run over the sequences, too, unless the result has rows of its own for each.

    ```mlir
    %dslope = attn.scatter_add %ds like %slope : (!S, !attn.tensor<heads(8) x f32>) -> !attn.tensor<heads(8) x f32> {
    ^bb0(%x: f32, %i: i64, %j: i64, %h: i64, %b: i64, %n_queries: i64, %n_keys: i64):
      attn.contribute %x at [%h] : f32
    }
    ```
    Constraints: `attn.scatter_add-C1`: at least one operand; all are pairs or all are rows x heads x features, of one
    shape; the result has the axes of `like`. `attn.scatter_add-C2`: the block's arguments are as above. `attn.scatter_add-C3`: it ends in
    `attn.contribute` with one index per axis of the result. `attn.scatter_add-C4`: it holds only arith and math ops
    and `attn.lookup`.
  }];
  let arguments = (ins Variadic<AnyTypeOf<[Attn_Pairs, Attn_Tensor]>>:$inputs, Attn_Tensor:$like);
  let results = (outs Attn_Tensor:$result);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$inputs `like` $like attr-dict `:` functional-type(operands, $result) $body";
  let hasVerifier = 1;
}

def Attn_SumSequencesOp : Attn_Op<"sum_sequences", [Pure]> {
  let summary = "sums a per-sequence tensor over the batch: the transpose of sharing it";
  let description = [{
    R[i, h, d] = Σ_b x[b, i, h, d]. The gradient of a `broadcast` input.

    - `attn.sum_sequences-C1`: the operand has `fixed(N)` rows, the result `broadcast(N)` with the same other axes.
  }];
  let arguments = (ins Attn_Tensor:$input);
  let results = (outs Attn_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` qualified(type($input)) `->` qualified(type($result))";
  let hasVerifier = 1;
}

def Attn_PackOp : Attn_Op<"pack", [Pure]> {
  let summary = "tensors side by side: [rows, sum of heads x features]";
  let description = [{
    Row t of the result is the heads of the first operand one after the other, then those of the second, and so on:
    the packed dz = [dQ | dK | dV] of a fused projection.

    - `attn.pack-C1`: operands are rows x heads x features with equal rows and known heads. `attn.pack-C2`: the result
      is those rows x the sum of heads · features.
  }];
  let arguments = (ins Variadic<Attn_Tensor>:$inputs);
  let results = (outs Attn_Tensor:$result);
  let assemblyFormat = "$inputs attr-dict `:` functional-type($inputs, $result)";
  let hasVerifier = 1;
}

def Attn_AddOp : Attn_Op<"add", [Pure, Commutative]> {
  let summary = "the sum of two values of one shape: where two gradients meet";
  let description = [{
    - `attn.add-C1`: both operands and the result are pairs of the same rows and heads, or tensors of the same axes.
  }];
  let arguments = (ins AnyTypeOf<[Attn_Pairs, Attn_Tensor]>:$lhs, AnyTypeOf<[Attn_Pairs, Attn_Tensor]>:$rhs);
  let results = (outs AnyTypeOf<[Attn_Pairs, Attn_Tensor]>:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

//===-- inside regions --------------------------------------------------------------------------------------===//

def Attn_LookupOp : Attn_Op<"lookup", [Pure]> {
  let summary = "one element of a tensor, inside an expression";
  let description = [{
    One i64 index per axis. An index into rows (or blocks) is a position in the current sequence. An index outside
    the axis is an error at evaluation; a kernel does not check it. Floating elements are f32, integers i64.

    - `attn.lookup-C1`: as many indices as axes. `attn.lookup-C2`: the result is f32 for floating elements, i64 for
      integers. `attn.lookup-C3`: it stands in the region of `attn.mask_where`, `map_pairs`, `map_elements` or
      `scatter_add`.
  }];
  let arguments = (ins Attn_Tensor:$table, Variadic<I64>:$indices);
  let results = (outs AnyTypeOf<[F32, I64]>:$result);
  let assemblyFormat = "$table `[` $indices `]` attr-dict `:` qualified(type($table)) `->` qualified(type($result))";
  let hasVerifier = 1;
}

def Attn_ResultOp : Attn_Op<"result", [Pure, Terminator,
                                       ParentOneOf<["MaskWhereOp", "MapPairsOp", "MapElementsOp"]>]> {
  let summary = "the value of an expression region";
  let arguments = (ins AnyTypeOf<[F32, I1]>:$value);
  let assemblyFormat = "$value attr-dict `:` qualified(type($value))";
}

def Attn_ContributeOp : Attn_Op<"contribute", [Pure, Terminator, HasParent<"ScatterAddOp">]> {
  let summary = "what one pair or element adds, and where";
  let arguments = (ins F32:$value, Variadic<I64>:$indices);
  let assemblyFormat = "$value `at` `[` $indices `]` attr-dict `:` qualified(type($value))";
}

#endif

// dialect/Attn/PairOps.td - ops on values per (query, key) pair, and the products that make and consume them
#ifndef FOVEA_ATTN_PAIR_OPS
#define FOVEA_ATTN_PAIR_OPS

include "dialect/Attn/AttnTypes.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

//===-- products --------------------------------------------------------------------------------------------===//
// Three contractions, closed under differentiation. g = query heads per head of the other operand; head h of the
// queries meets head h / g of the keys (grouped heads). The number of features is known in all of them; heads may be
// known at launch only, and are then one number for all tensors.

def Attn_DotsOp : Attn_Op<"dots", [Pure]> {
  let summary = "dot products of query rows with key rows: S = A Bᵀ where the mask is";
  let description = [{
    S[i, j, h] = Σ_d A[i, h, d] · B[j, h / g, d] for the pairs of the mask; all other pairs are absent from the result,
    and rows that no present pair touches are never read. It makes the scores Q Kᵀ and, in a backward, dP = dO Vᵀ.

    ```mlir
    %s = attn.dots %q, %k where %mask : (!Q, !K, !M) -> !attn.pairs<jagged("offsets") x jagged("offsets") x heads(4) x f32>
    ```
    Constraints: `attn.dots-C1`: both operands are floating rows x heads x features, with equal features.
    `attn.dots-C2`: heads of the keys divide heads of the queries. `attn.dots-C3`: mask and result have the rows of
    the operands as one sequence sees them, and the result is f32 with the queries' heads.
  }];
  let arguments = (ins Attn_Tensor:$queries, Attn_Tensor:$keys, Attn_Mask:$mask);
  let results = (outs Attn_Pairs:$result);
  let assemblyFormat = "$queries `,` $keys `where` $mask attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Attn_CombineOp : Attn_Op<"combine", [Pure]> {
  let summary = "sums over keys: O = P V";
  let description = [{
    O[i, h, d] = Σ_j P[i, j, h] · V[j, h / g, d] over the present pairs; a row without any is 0. In a backward also
    dQ = dS K.

    Constraints: `attn.combine-C1`: values are floating rows x heads x features with the keys' rows.
    `attn.combine-C2`: heads of the values divide heads of the pairs. `attn.combine-C3`: the result is the queries'
    rows x the pairs' heads x the values' features.
  }];
  let arguments = (ins Attn_Pairs:$pairs, Attn_Tensor:$values);
  let results = (outs Attn_Tensor:$result);
  let assemblyFormat = "$pairs `,` $values attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Attn_CombineQueriesOp : Attn_Op<"combine_queries", [Pure]> {
  let summary = "sums over queries: dV = Pᵀ dO";
  let description = [{
    R[j, c, d] = Σ_i Σ_{h : h / g = c} P[i, j, h] · X[i, h, d] over the present pairs, where g = heads of the pairs /
    heads of the result; a key without any is 0. It makes dV = Pᵀ dO and dK = dSᵀ Q.

    Constraints: `attn.combine_queries-C1`: x is floating rows x heads x features with the queries' rows and the pairs'
    heads. `attn.combine_queries-C2`: heads of the result divide heads of the pairs.
    `attn.combine_queries-C3`: the result is the keys' rows x heads x the features of x.
  }];
  let arguments = (ins Attn_Pairs:$pairs, Attn_Tensor:$x);
  let results = (outs Attn_Tensor:$result);
  let assemblyFormat = "$pairs `,` $x attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

//===-- elementwise on pairs --------------------------------------------------------------------------------===//

def Attn_MapPairsOp : Attn_Op<"map_pairs", [Pure, SingleBlock,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "a scalar expression for each present pair";
  let description = [{
    Score expressions, pointwise weights, and their derivatives. The region sees one f32 per operand, then (i, j, h, b,
    n_queries, n_keys), all i64, as in `attn.mask_where`, and yields an f32. It may use tensors through `attn.lookup`.
    Expressions are arith and math ops; `dialect/Attn/Scalars.h` builds the usual functions (sigmoid, silu, gelu,
    softcap) from them.

    ```mlir
    %t = attn.map_pairs %s : (!S) -> !S {
    ^bb0(%x: f32, %i: i64, %j: i64, %h: i64, %b: i64, %n_queries: i64, %n_keys: i64):
      %c = arith.constant 0.125 : f32
      %y = arith.mulf %x, %c : f32
      attn.result %y : f32
    }
    ```
    Constraints: `attn.map_pairs-C1`: operands, at least one, and the f32 result are pairs of the same rows and heads.
    `attn.map_pairs-C2`: the block's arguments are as above. `attn.map_pairs-C3`: it ends in `attn.result` of one f32.
    `attn.map_pairs-C4`: it holds only arith and math ops and `attn.lookup`.
  }];
  let arguments = (ins Variadic<Attn_Pairs>:$inputs);
  let results = (outs Attn_Pairs:$result);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$inputs attr-dict `:` functional-type($inputs, $result) $body";
  let hasVerifier = 1;
}

def Attn_QuantizeOp : Attn_Op<"quantize", [Pure]> {
  let summary = "pairs carried in a microscaled 8-bit format";
  let description = [{
    Exact arithmetic: the identity. In a finite-precision implementation each 32 consecutive keys of a row share an
    e8m0 scale (OCP Microscaling Formats v1.0: 2 to the power of floor(log2(largest magnitude)) - 8) and the values are
    e4m3.

    - `attn.quantize-C1`: the operand is f32 pairs; the result differs from it only in its element type f8E4M3FN.
  }];
  let arguments = (ins Attn_Pairs:$input);
  let results = (outs Attn_Pairs:$result);
  let assemblyFormat = "$input attr-dict `:` qualified(type($input)) `->` qualified(type($result))";
  let hasVerifier = 1;
}

//===-- softmax and its gradient ----------------------------------------------------------------------------===//

def Attn_SoftmaxOp : Attn_Op<"softmax", [Pure]> {
  let summary = "probabilities of each query's present keys, and the log of their normaliser";
  let description = [{
    lse[i, h] = ln Σ_j exp(s[i, j, h]), p[i, j, h] = exp(s[i, j, h] - lse[i, h]), over the present pairs. A row with
    no present pair, or whose scores are all -inf, has lse = -inf and p = 0.

    With a sink, lse[i, h] = ln (Σ_j exp(s[i, j, h]) + exp(sink[h])): one more key in every row of head h, of score
    sink[h] and value 0. A row that sees nothing then has lse = sink[h]; sink[h] = -inf is no sink; +inf and NaN make
    p and lse NaN in all rows of the head.

    ```mlir
    %p, %lse = attn.softmax %s sink(%sink : !attn.tensor<heads(8) x f32>) : !S -> !S, !L
    ```
    Constraints: `attn.softmax-C1`: p has the type of the scores; lse is f32, the queries' rows x the scores' heads.
    `attn.softmax-C2`: the sink is f32, the scores' heads.
  }];
  let arguments = (ins Attn_Pairs:$scores, Optional<Attn_Tensor>:$sink);
  let results = (outs Attn_Pairs:$p, Attn_Tensor:$lse);
  let assemblyFormat = [{
    $scores (`sink` `(` $sink^ `:` qualified(type($sink)) `)`)? attr-dict `:` qualified(type($scores)) `->`
    qualified(type($p)) `,` qualified(type($lse)) }];
  let hasVerifier = 1;
}

def Attn_SoftmaxGivenOp : Attn_Op<"softmax_given", [Pure]> {
  let summary = "probabilities recomputed from a saved lse";
  let description = [{
    p[i, j, h] = exp(s[i, j, h] - lse[i, h]); 0 where lse = -inf.

    - `attn.softmax_given-C1`: p has the type of the scores; lse is f32, the queries' rows x the scores' heads.
  }];
  let arguments = (ins Attn_Pairs:$scores, Attn_Tensor:$lse);
  let results = (outs Attn_Pairs:$p);
  let assemblyFormat = "$scores `,` $lse attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Attn_RowDotOp : Attn_Op<"row_dot", [Pure]> {
  let summary = "the dot product of two rows, per query and head";
  let description = [{
    On pairs: D[i, h] = Σ_j a[i, j, h] · b[i, j, h] over the present pairs. On tensors: D[i, h] = Σ_d a[i, h, d] ·
    b[i, h, d]. The row statistic of softmax's gradient is either of `row_dot P, dP` and `row_dot dO, O`: they are
    equal, so a schedule may exchange them.

    - `attn.row_dot-C1`: both operands are pairs, or both rows x heads x features, of the same shape.
    - `attn.row_dot-C2`: the result is f32, the (queries') rows x heads.
  }];
  let arguments = (ins AnyTypeOf<[Attn_Pairs, Attn_Tensor]>:$lhs, AnyTypeOf<[Attn_Pairs, Attn_Tensor]>:$rhs);
  let results = (outs Attn_Tensor:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Attn_SoftmaxGradOp : Attn_Op<"softmax_grad", [Pure]> {
  let summary = "dS = P ∘ (dP - D)";
  let description = [{
    dS[i, j, h] = p[i, j, h] · (dp[i, j, h] - d[i, h]), with the row statistic d from `attn.row_dot`.

    - `attn.softmax_grad-C1`: p, dp and the result have one type; d is f32, the queries' rows x the pairs' heads.
  }];
  let arguments = (ins Attn_Pairs:$p, Attn_Pairs:$dp, Attn_Tensor:$d);
  let results = (outs Attn_Pairs:$result);
  let assemblyFormat = "$p `,` $dp `,` $d attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Attn_SinkGradOp : Attn_Op<"sink_grad", [Pure]> {
  let summary = "the gradient of a softmax by its sink";
  let description = [{
    dsink[h] = -Σ exp(sink[h] - lse[i, h]) · d[i, h] over all rows i of all sequences, with the row statistic d from
    `attn.row_dot`: the sink's probability, and a value of 0. A row with lse = -inf adds nothing.

    - `attn.sink_grad-C1`: lse and d have one type, f32 rows x heads; the sink and the result are f32, those heads.
  }];
  let arguments = (ins Attn_Tensor:$sink, Attn_Tensor:$lse, Attn_Tensor:$d);
  let results = (outs Attn_Tensor:$result);
  let assemblyFormat = "$sink `,` $lse `,` $d attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

#endif

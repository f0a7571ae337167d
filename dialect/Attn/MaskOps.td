// dialect/Attn/MaskOps.td - ops that say which (query, key) pairs are present
#ifndef FOVEA_ATTN_MASK_OPS
#define FOVEA_ATTN_MASK_OPS

include "dialect/Attn/AttnTypes.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Attn_PatternOp : Attn_Op<"pattern", [Pure]> {
  let summary = "the mask of a named pattern";
  let description = [{
    `attn.pattern #attn.causal<bottom_right> -> !attn.mask<dense("seq") x dense("seq")>`. i and j are positions inside
    the sequence; the attributes define their patterns.

    - `attn.pattern-C1`: the attribute is one of the named patterns.
  }];
  let arguments = (ins Attn_PatternAttr:$pattern);
  let results = (outs Attn_Mask:$mask);
  let assemblyFormat = "$pattern attr-dict `->` qualified(type($mask))";
}

def Attn_BlocksOp : Attn_Op<"blocks", [Pure]> {
  let summary = "a runtime list of key blocks per query block";
  let description = [{
    `attn.blocks %picks {query_block = 128, key_block = 128} : !attn.tensor<blocks(128, ROWS) x heads(8) x ? x i32>
    -> !attn.mask<...>`. The list gives, for each block of `query_block` queries of a sequence and each query head (or
    `heads(1)`: the same for all heads), the key blocks that it sees: pair (i, j) is present when j / key_block is in
    the list of i / query_block. The first negative entry ends a list; a list may be empty. Key blocks ascend; one
    that is not above the one before, or past the keys' end, is an error where the list is on the host (evaluation, `fovea
    run`). A kernel takes lists from the device's memory as they are: it reads and writes nothing out of bounds, no row
    meets another sequence, and what it computes from a list out of order is unspecified.

    Constraints: `attn.blocks-C1`: both block sizes are positive. `attn.blocks-C2`: the list is i32 or i64 with axes
    blocks(query_block, rows of the mask's queries) x heads x extent.
  }];
  let arguments = (ins Attn_Tensor:$list, I64Attr:$query_block, I64Attr:$key_block);
  let results = (outs Attn_Mask:$mask);
  let assemblyFormat = "$list attr-dict `:` qualified(type($list)) `->` qualified(type($mask))";
  let hasVerifier = 1;
}

class Attn_MaskCombination<string mnemonic, string summaryText> : Attn_Op<mnemonic, [Pure, Commutative,
                                                                                     SameOperandsAndResultType]> {
  let summary = summaryText;
  let arguments = (ins Attn_Mask:$lhs, Attn_Mask:$rhs);
  let results = (outs Attn_Mask:$mask);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` qualified(type($mask))";
}
def Attn_MaskAndOp : Attn_MaskCombination<"mask_and", "pairs present in both masks"> {
  let description = [{ - `attn.mask_and-C1`: operands and result have one type. }];
}
def Attn_MaskOrOp : Attn_MaskCombination<"mask_or", "pairs present in either mask"> {
  let description = [{ - `attn.mask_or-C1`: operands and result have one type. }];
}
def Attn_MaskNotOp : Attn_Op<"mask_not", [Pure, SameOperandsAndResultType]> {
  let summary = "pairs of the sequence that are not present in the mask";
  let description = [{ - `attn.mask_not-C1`: operand and result have one type. }];
  let arguments = (ins Attn_Mask:$operand);
  let results = (outs Attn_Mask:$mask);
  let assemblyFormat = "$operand attr-dict `:` qualified(type($mask))";
}

def Attn_MaskWhereOp : Attn_Op<"mask_where", [Pure, SingleBlock,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "pairs for which a boolean expression holds";
  let description = [{
    The region sees (i, j, h, b, n_queries, n_keys), all i64: positions inside the sequence (no alignment), query head,
    sequence, and the lengths of both sides; `attn.result` yields an i1. It may use tensors through `attn.lookup`.

    ```mlir
    %m = attn.mask_where : !attn.mask<jagged("offsets") x jagged("offsets")> {
    ^bb0(%i: i64, %j: i64, %h: i64, %b: i64, %n_queries: i64, %n_keys: i64):
      %c = arith.cmpi sle, %j, %i : i64
      attn.result %c : i1
    }
    ```
    - `attn.mask_where-C1`: the block has these six i64 arguments. `attn.mask_where-C2`: it ends in `attn.result` of
      one i1. `attn.mask_where-C3`: it holds only arith and math ops and `attn.lookup`.
  }];
  let results = (outs Attn_Mask:$mask);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "attr-dict `:` qualified(type($mask)) $body";
  let hasVerifier = 1;
}

#endif

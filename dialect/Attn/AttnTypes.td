// dialect/Attn/AttnTypes.td - axes, the three types of value, and the attributes that name a pattern
#ifndef FOVEA_ATTN_TYPES
#define FOVEA_ATTN_TYPES

include "dialect/Attn/AttnDialect.td"

//===-- axes ------------------------------------------------------------------------------------------------===//

def Attn_RowsKind : I32EnumAttr<"RowsKind", "how the rows of a tensor belong to the sequences of a batch", [
    I32EnumAttrCase<"Jagged", 0, "jagged">, I32EnumAttrCase<"Dense", 1, "dense">,
    I32EnumAttrCase<"Fixed", 2, "fixed">, I32EnumAttrCase<"Broadcast", 3, "broadcast">]> {
  let cppNamespace = "::fovea::attn";
  let genSpecializedAttr = 0;
}

def Attn_RowsAttr : Attn_Attr<"Rows", "rows"> {
  let summary = "a row space: which rows each sequence owns";
  let description = [{
    | text | rows of sequence b | dimensions in memory |
    | --- | --- | --- |
    | `jagged("offsets")` | offsets[b] … offsets[b+1] - 1 | [total] |
    | `dense("seq")` | seq rows, known at launch; equal names have equal lengths | [batch, seq] |
    | `fixed(N)` | N rows of its own | [batch, N] |
    | `broadcast(N)` | the same N rows for all sequences | [N] |

    Two row spaces are the same exactly when their attributes are equal.
  }];
  let parameters = (ins "RowsKind":$kind, "::mlir::StringAttr":$name, "int64_t":$count);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    /// The row space that one sequence sees: `fixed(N)` for `broadcast(N)`, else itself.
    RowsAttr perSequence() const;
    bool isBroadcast() const { return getKind() == RowsKind::Broadcast; }
    static RowsAttr jagged(::mlir::MLIRContext *context, ::llvm::StringRef offsets);
    static RowsAttr dense(::mlir::MLIRContext *context, ::llvm::StringRef seq);
    static RowsAttr fixed(::mlir::MLIRContext *context, int64_t count);
    static RowsAttr broadcast(::mlir::MLIRContext *context, int64_t count);
  }];
}

def Attn_AxisKind : I32EnumAttr<"AxisKind", "what an axis of a tensor counts", [
    I32EnumAttrCase<"Rows", 0, "rows">, I32EnumAttrCase<"Blocks", 1, "blocks">,
    I32EnumAttrCase<"Heads", 2, "heads">, I32EnumAttrCase<"Extent", 3, "extent">]> {
  let cppNamespace = "::fovea::attn";
  let genSpecializedAttr = 0;
}

def Attn_AxisAttr : Attn_Attr<"Axis", "axis"> {
  let summary = "one axis of a tensor";
  let description = [{
    - a row space (see `#attn.rows`), indexed by the position inside the sequence;
    - `blocks(N, ROWS)`: one entry per N consecutive rows of each sequence, the last block may be short. In memory the
      blocks of all sequences follow each other ([total blocks] for jagged rows, [batch, blocks] for dense ones);
    - `heads(H)`, or `heads(?)` when known at launch;
    - a number, or `?` when known at launch: features, or the entries of a table.
  }];
  let parameters = (ins "AxisKind":$kind, "RowsAttr":$rows, "int64_t":$size);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    static AxisAttr rows(RowsAttr rows);
    static AxisAttr blocks(RowsAttr rows, int64_t size);
    /// `size` may be ShapedType::kDynamic for these two.
    static AxisAttr heads(::mlir::MLIRContext *context, int64_t size);
    static AxisAttr extent(::mlir::MLIRContext *context, int64_t size);
  }];
}

//===-- types -----------------------------------------------------------------------------------------------===//

def Attn_Tensor : Attn_Type<"AttnTensor", "tensor"> {
  let summary = "a tensor with named axes";
  let description = [{
    `!attn.tensor<jagged("offsets") x heads(4) x 128 x bf16>`. Element types: bf16, f16, f32, f8E4M3FN, f8E8M0FNU,
    i32, i64. The order of the axes is the order of the dimensions; strides belong to the launch.

    - `attn.tensor-C1`: the element type is one of these.
    - `attn.tensor-C2`: at most one axis counts rows or blocks of rows, at most one counts heads; sizes are positive.
  }];
  let parameters = (ins ArrayRefParameter<"AxisAttr">:$axes, "::mlir::Type":$elementType);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// True for [rows, heads, features]: the shape of q, k, v, o and of what is elementwise with them.
    bool isRowsHeadsFeatures() const;
    /// The row space of the axis that counts rows (null when no axis does).
    RowsAttr getRows() const;
    /// The number of heads (1 when no axis counts heads, kDynamic when known at launch).
    int64_t getHeads() const;
    /// The size of the last axis when it is an extent (0 otherwise).
    int64_t getFeatures() const;
    AttnTensorType withElementType(::mlir::Type elementType) const;
    static AttnTensorType rowsHeadsFeatures(RowsAttr rows, int64_t heads, int64_t features, ::mlir::Type elementType);
    static AttnTensorType rowsHeads(RowsAttr rows, int64_t heads, ::mlir::Type elementType);
  }];
}

def Attn_Pairs : Attn_Type<"Pairs", "pairs"> {
  let summary = "one value for each present (query, key) pair of each sequence and query head";
  let description = [{
    `!attn.pairs<jagged("q_offsets") x jagged("kv_offsets") x heads(8) x f32>`. Which pairs are present was decided by
    the mask of the `attn.dots` at the root of the value.

    - `attn.pairs-C1`: neither row space is `broadcast`: a pair belongs to one sequence.
    - `attn.pairs-C2`: the element type is f32, or f8E4M3FN for what `attn.quantize` makes.
  }];
  let parameters = (ins "RowsAttr":$queries, "RowsAttr":$keys, "int64_t":$heads, "::mlir::Type":$elementType);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Attn_Mask : Attn_Type<"Mask", "mask"> {
  let summary = "which (query, key) pairs are present";
  let description = [{ `!attn.mask<jagged("q_offsets") x jagged("kv_offsets")>`; `attn.pairs-C1` holds here too. }];
  let parameters = (ins "RowsAttr":$queries, "RowsAttr":$keys);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

//===-- named patterns --------------------------------------------------------------------------------------===//

def Attn_Alignment : I32EnumAttr<"Alignment", "which corner the diagonal starts from when the lengths differ", [
    I32EnumAttrCase<"BottomRight", 0, "bottom_right">, I32EnumAttrCase<"TopLeft", 1, "top_left">]> {
  let cppNamespace = "::fovea::attn";
  let genSpecializedAttr = 0;
}

def Attn_FullAttr : Attn_Attr<"Full", "full"> {
  let summary = "every pair";
}

def Attn_CausalAttr : Attn_Attr<"Causal", "causal"> {
  let summary = "keys up to the query's own position";
  let description = [{
    `bottom_right`: j <= i + (n_keys - n_queries), so that the last query sees the last key. `top_left`: j <= i.
  }];
  let parameters = (ins EnumParameter<Attn_Alignment>:$alignment);
  let assemblyFormat = "`<` $alignment `>`";
}

def Attn_WindowAttr : Attn_Attr<"Window", "window"> {
  let summary = "keys near the query, both ends included";
  let description = [{
    With p = i + (n_keys - n_queries): p - left <= j <= p + right. A side that is not given is unbounded.

    - `attn.window-C1`: both sides are at least 0.
  }];
  let parameters = (ins OptionalParameter<"std::optional<int64_t>">:$left,
                        OptionalParameter<"std::optional<int64_t>">:$right);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Attn_BlockDiagonalAttr : Attn_Attr<"BlockDiagonal", "block_diagonal"> {
  let summary = "i / size == j / size, by position in the own sequence";
  let description = [{ - `attn.block_diagonal-C1`: the size is positive. }];
  let parameters = (ins "int64_t":$size);
  let assemblyFormat = "`<` $size `>`";
  let genVerifyDecl = 1;
}

def Attn_PrefixAttr : Attn_Attr<"Prefix", "prefix"> {
  let summary = "the first `count` keys, for every query";
  let description = [{ - `attn.prefix-C1`: the count is positive. }];
  let parameters = (ins "int64_t":$count);
  let assemblyFormat = "`<` $count `>`";
  let genVerifyDecl = 1;
}

def Attn_PatternAttr : AnyAttrOf<[Attn_FullAttr, Attn_CausalAttr, Attn_WindowAttr, Attn_BlockDiagonalAttr,
                                  Attn_PrefixAttr], "a named pattern">;

//===-- other attributes ------------------------------------------------------------------------------------===//

def Attn_RotaryStyle : I32EnumAttr<"RotaryStyle", "which features make a rotated pair", [
    I32EnumAttrCase<"Interleaved", 0, "interleaved">, I32EnumAttrCase<"Halves", 1, "halves">]> {
  let cppNamespace = "::fovea::attn";
  let genSpecializedAttr = 0;
}
def Attn_RotaryStyleAttr : EnumAttr<Attn_Dialect, Attn_RotaryStyle, "rotary_style">;

def Attn_EmitAttr : Attn_Attr<"Emit", "emit"> {
  let summary = "which kernels a spec asks for, and with which outputs";
  let description = [{
    `#attn.emit<forward, lse, backward, deterministic, packed "dz", tables ["angles"]>`: a list that starts with `forward`;
    `lse`: the forward writes it; `deterministic`: repeated backward runs agree bit for bit; `packed NAME`: the gradients
    of q, k and v leave as one tensor; `tables`: the rotary tables whose gradients are wanted, too.

    - `attn.emit-C1`: `deterministic`, `packed` and `tables` go with `backward`; `tables` holds strings.
  }];
  let parameters = (ins "bool":$lse, "bool":$backward, "bool":$deterministic, "::mlir::StringAttr":$packed,
                        "::mlir::ArrayAttr":$tables);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

#endif

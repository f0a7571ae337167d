// dialect/Attn/SpecOps.td - the symbol that holds one kernel's mathematics, and its terminator
#ifndef FOVEA_ATTN_SPEC_OPS
#define FOVEA_ATTN_SPEC_OPS

include "dialect/Attn/AttnTypes.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Attn_SpecOp : Attn_Op<"spec", [IsolatedFromAbove, Symbol, SingleBlock, NoTerminator,
                                   DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "the mathematics of one attention kernel";
  let description = [{
    A symbol with named inputs (block arguments) and named results (`attn.yield`). Inputs are what the launch passes.

    ```mlir
    attn.spec @cross(q = %q : !attn.tensor<jagged("q_offsets") x heads(8) x 64 x bf16>,
                     k = %k : !attn.tensor<jagged("kv_offsets") x heads(8) x 64 x bf16>,
                     v = %v : !attn.tensor<jagged("kv_offsets") x heads(8) x 64 x bf16>)
        attributes {emit = #attn.emit<forward, lse, backward>} {
      %mask = attn.pattern #attn.full -> !attn.mask<jagged("q_offsets") x jagged("kv_offsets")>
      ...
      attn.yield o = %o, lse = %lse : ...
    }
    ```
    - `emit` says which kernels the user asked for; a derived spec has none.
    - `schedule` holds the user's overrides, one dictionary per target, passed on untouched.
    - `gradient_of` names the forward spec that a backward was derived from.

    Constraints: `attn.spec-C1`: as many input names as arguments, each once, none of them also an offsets table.
    `attn.spec-C2`: inputs are tensors. `attn.spec-C3`: some input has rows of its own per sequence (not only
    `broadcast`), since the batch is counted by it. `attn.spec-C4`: the block ends in `attn.yield`.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrArrayAttr:$input_names, OptionalAttr<Attn_EmitAttr>:$emit,
                       OptionalAttr<DictionaryAttr>:$schedule, OptionalAttr<FlatSymbolRefAttr>:$gradient_of);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::llvm::StringRef getInputName(unsigned index);
    /// The argument with this name; null when there is none.
    ::mlir::BlockArgument getInput(::llvm::StringRef name);
    YieldOp getYield();
    /// The value yielded under this name; null when there is none.
    ::mlir::Value getResultNamed(::llvm::StringRef name);
    /// Creates the op with an empty body block that has the arguments, and no terminator yet.
    static SpecOp create(::mlir::OpBuilder &builder, ::mlir::Location loc, ::llvm::StringRef name,
                         ::mlir::ArrayRef<std::pair<::llvm::StringRef, ::mlir::Type>> inputs);
  }];
}

def Attn_YieldOp : Attn_Op<"yield", [Pure, Terminator, HasParent<"SpecOp">]> {
  let summary = "the named results of a spec";
  let description = [{
    `attn.yield o = %o, lse = %lse : !T, !U`. Names: `o` and `lse` for a forward, `d` + input for a gradient, or the
    name of a packed gradient.

    - `attn.yield-C1`: as many names as values, each once, at least one. `attn.yield-C2`: values are tensors.
  }];
  let arguments = (ins StrArrayAttr:$result_names, Variadic<Attn_Tensor>:$values);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

#endif

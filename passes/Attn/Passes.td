// passes/Attn/Passes.td - passes on the dialect `attn`
#ifndef FOVEA_PASSES_ATTN
#define FOVEA_PASSES_ATTN

include "mlir/Pass/PassBase.td"

def AttnDeriveBackward : Pass<"attn-derive-backward", "::mlir::ModuleOp"> {
  let summary = "derive the gradient of each spec that emits backward";
  let description = [{
    Adds `attn.spec @NAME_backward` behind each spec whose `emit` holds `backward`. Its inputs are those of the forward
    that it needs, `dout` (the gradient of o), and `o` and `lse` when they are used; its results are `d` + input, or
    the packed tensor that `emit` names. Reverse mode, op by op; forward values that the gradient needs are recomputed.
  }];
  let options = [
    ListOption<"wrt", "wrt", "std::string",
               "inputs to differentiate by (default: those of rows x heads x features)">,
    Option<"saved", "saved", "std::string", /*default=*/"\"auto\"",
           "use the forward's lse and o: auto (when emitted, and not block-diagonal), always, never">,
    Option<"rowStatistic", "row-statistic", "std::string", /*default=*/"\"auto\"",
           "softmax's D from: auto (p-dp when block-diagonal or nothing is saved, else do-o), p-dp, do-o">,
    Option<"all", "all", "bool", /*default=*/"false", "also specs whose emit has no backward">];
  let dependentDialects = ["::fovea::attn::AttnDialect"];
}

#endif

// dialect/Attn/AttnDialect.td - the dialect `attn` and the base classes of its ops, types and attributes
#ifndef FOVEA_ATTN_DIALECT
#define FOVEA_ATTN_DIALECT

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

def Attn_Dialect : Dialect {
  let name = "attn";
  let cppNamespace = "::fovea::attn";
  let summary = "what an attention computes";
  let description = [{
    The mathematics of one attention, forward or backward, as values: tensors whose axes have names (the rows of a
    jagged batch, heads, features), one value per (query, key) pair, and masks. No machine, no layout, no tile.
    The f64 evaluator in `dialect/Attn/Reference` runs every op and is the meaning of it.

    Three rules hold everywhere.
    - *A pair that the mask excludes is absent, not zero.* Scores are born masked (`attn.dots`); every later op sees
      only the pairs that are present. So whatever stands in an excluded key (a NaN, say) reaches nothing.
    - *Rows outside a sequence do not exist.* All positions are positions inside a sequence.
    - *Element types are where a value is rounded.* Arithmetic is exact. A result whose element type is narrower than
      f32 is rounded to it once; nothing else is rounded, except the pairs that enter a product, which are rounded to
      the other operand's element type when that is narrower.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
}

class Attn_Attr<string name, string mnemonicText, list<Trait> traits = []> : AttrDef<Attn_Dialect, name, traits> {
  let mnemonic = mnemonicText;
}
class Attn_Type<string name, string mnemonicText> : TypeDef<Attn_Dialect, name> {
  let mnemonic = mnemonicText;
}
class Attn_Op<string mnemonic, list<Trait> traits = []> : Op<Attn_Dialect, mnemonic, traits>;

#endif

// dialect/Tile/TileDialect.td - the dialect `tile`: its types, enums and attributes, and the base of its ops.
#ifndef FOVEA_TILE_DIALECT
#define FOVEA_TILE_DIALECT

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

def TileDialect : Dialect {
  let name = "tile";
  let cppNamespace = "::fovea::tile";
  let summary = "HOW: a kernel as sequential roles joined by bounded channels";
  let description = [{
    A kernel is a small network. A *role* is a sequential program over one work item; a *channel* is a ring of
    `depth` slots that travel through fixed *stations* (roles) and return empty. `take` and `pass` are the only
    verbs. Barriers, phases, byte counts and fences are derived from the channel, never written by a lowering.

    Register tiles are builtin tensors with a `#tile.regs` encoding, so that `arith` and `math` apply elementwise.
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
}

def Tile_Space : I32EnumAttr<"Space", "where a slot lives", [
    I32EnumAttrCase<"Smem", 0, "smem">,
    I32EnumAttrCase<"Tmem", 1, "tmem">,
    I32EnumAttrCase<"Registers", 2, "registers">]> {
  let cppNamespace = "::fovea::tile";
}

def Tile_Unit : I32EnumAttr<"Unit", "the asynchronous unit, or the threads, that work on a slot", [
    I32EnumAttrCase<"Tma", 0, "tma">,
    I32EnumAttrCase<"Tensor", 1, "tensor">,
    I32EnumAttrCase<"Threads", 2, "threads">]> {
  let cppNamespace = "::fovea::tile";
}

def Tile_Reduction : I32EnumAttr<"Reduction", "a reduction along a row", [
    I32EnumAttrCase<"Max", 0, "max">,
    I32EnumAttrCase<"Add", 1, "add">]> {
  let cppNamespace = "::fovea::tile";
}

def Tile_FenceKind : I32EnumAttr<"FenceKind", "what a fence orders (PTX ISA: async proxy; tcgen05 memory model)", [
    I32EnumAttrCase<"AsyncProxy", 0, "async_proxy">,
    I32EnumAttrCase<"TensorBefore", 1, "tensor_before">,
    I32EnumAttrCase<"TensorAfter", 2, "tensor_after">,
    I32EnumAttrCase<"TmemLoads", 3, "tmem_loads">,
    I32EnumAttrCase<"TmemStores", 4, "tmem_stores">]> {
  let cppNamespace = "::fovea::tile";
}

def Tile_RegisterLayout : I32EnumAttr<"RegisterLayout", "how a register tile is spread over threads", [
    I32EnumAttrCase<"Rows", 0, "rows">,
    I32EnumAttrCase<"Fragment", 1, "fragment">]> {
  let cppNamespace = "::fovea::tile";
}

def Tile_Pairing : I32EnumAttr<"Pairing", "which columns a rotary embedding turns together", [
    I32EnumAttrCase<"Interleaved", 0, "interleaved">,
    I32EnumAttrCase<"Halves", 1, "halves">]> {
  let cppNamespace = "::fovea::tile";
}

class Tile_Attr<string name, string attrMnemonic> : AttrDef<TileDialect, name> {
  let mnemonic = attrMnemonic;
}

def Tile_RegsAttr : Tile_Attr<"Regs", "regs"> {
  let summary = "register layout of a tile: `rows` (a thread owns a row) or `fragment` (wgmma/mma accumulator)";
  let description = [{
    `rows`: thread t of the group owns one row, all columns (tcgen05.ld 32x32b). With 64-row products the row of
    lane l in warp w is 16 w + l for l < 16; lanes 16-31 own nothing. `fragment`: the accumulator fragment of
    m64nNk16 / m16n8k16: thread t owns rows 16 w + l/4 and + 8, columns 8 c + 2 (l % 4) and + 1.
    A 1-D tensor with the same encoding holds one value per row: its owner threads each keep a copy.
  }];
  let parameters = (ins EnumParameter<Tile_RegisterLayout>:$layout);
  let assemblyFormat = "`<` $layout `>`";
}

def Tile_Slot : TypeDef<TileDialect, "Slot"> {
  let mnemonic = "slot";
  let summary = "one slot of a channel, owned by the role that took it and not yet passed it";
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$elementType,
                        EnumParameter<Tile_Space>:$space);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    int64_t getRows() const { return getShape()[0]; }
    int64_t getCols() const { return getShape()[1]; }
    int64_t getBytes() const {
      return getRows() * getCols() * getElementType().getIntOrFloatBitWidth() / 8;
    }
  }];
}

class Tile_Op<string mnemonic, list<Trait> traits = []> : Op<TileDialect, mnemonic, traits>;

def Tile_RegTile : Type<And<[CPred<"::llvm::isa<::mlir::RankedTensorType>($_self)">,
    CPred<"::llvm::isa_and_nonnull<::fovea::tile::RegsAttr>(::llvm::cast<::mlir::RankedTensorType>($_self).getEncoding())">]>,
    "register tile (tensor with a #tile.regs encoding)", "::mlir::RankedTensorType">;

#endif

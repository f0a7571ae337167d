// runtime/emulator/machine/Matrix.cpp - ldmatrix, stmatrix, movmatrix, mma.sync.
#include "runtime/emulator/machine/CopyOps.h"
#include "runtime/emulator/machine/tensor/MatrixMove.h"
#include "runtime/emulator/machine/tensor/WarpMma.h"
#include <cstdio>

namespace fovea::emulator {

void addWgmma(OpcodeTable &t);  // WgmmaOps.cpp
void addWmma(OpcodeTable &t);   // Wmma.cpp

namespace {

struct MoveForm : Extra { MatrixForm form; bool store = false, wide = true; Where where = Where::Shared; uint32_t regs[4]; unsigned count = 0; };

Step matrixMove(Warp &w, const Inst &i) {
  const MoveForm &f = *static_cast<const MoveForm *>(i.extra);
  requireConverged(w, f.store ? "stmatrix" : "ldmatrix");
  Observer *o = w.cta->cluster->launch->config->observer;
  uint32_t address[32] = {};
  unsigned used = f.form.shape == MatrixShape::M16N16 ? 16 * f.form.count : 8 * f.form.count;
  for (unsigned l = 0; l < 32; ++l) {
    uint64_t a = addressOf(w, i.r[1], f.wide, int64_t(i.imm), int(l));
    if (l >= used)
      continue;
    uint32_t s = sharedAddress(w, f.where, a, int(l), "ldmatrix/stmatrix");
    if (s >> 24 != w.cta->rank)
      faultAt(w, int(l), "out of bounds: ldmatrix and stmatrix reach the block's own shared memory only");
    address[l] = s & 0xffffff;
    if (address[l] < kSharedReserved)
      faultAt(w, int(l), "out of bounds: ldmatrix and stmatrix of shared address " + std::to_string(address[l]) + "; a block's memory begins at " + std::to_string(kSharedReserved));
  }
  WarpRegister regs[4];
  for (unsigned k = 0; k < f.count; ++k)
    regs[k].lanes = w.reg<uint32_t>(f.regs[k]);
  try {
    if (f.store)
      stmatrix(f.form, w.cta->span(), address, regs);
    else
      ldmatrix(f.form, w.cta->span(), address, regs);
  } catch (const Fault &fault) {
    faultAt(w, -1, fault.what());
  }
  if (f.store)
    ++w.cta->cluster->progress;
  if (o)
    o->sharedLanes(w, i, f.store ? Access::Write : Access::Read, used == 32 ? kAllLanes : kLaneBit[used] - 1, address, 16);
  return Step::Next;
}

void decodeMatrixMove(Decoder &d) {
  MoveForm *f = d.extra<MoveForm>();
  f->store = d.in->opcode == "stmatrix";
  d.mods.take(".sync");
  d.mods.take(".aligned");
  int shape = d.mods.oneOf({".m8n8", ".m16n16", ".m8n16", ".m16n8"});
  int num = d.mods.oneOf({".x1", ".x2", ".x4"});
  f->form.trans = d.mods.take(".trans");
  int space = d.mods.oneOf({".shared", ".shared::cta"});
  f->where = space < 0 ? Where::Generic : Where::Shared;
  int expand = d.mods.oneOf({".b8x16.b6x16_p32", ".b8x16.b4x16_p64"});
  if (d.mods.take(".b8x16"))
    expand = d.mods.oneOf({".b6x16_p32", ".b4x16_p64"});
  Type t = expand >= 0 ? Type::B8 : d.needType("the .b16 or .b8");
  d.count(2, 2);
  if (shape < 0 || num < 0)
    d.fail("malformed " + std::string(d.in->opcode));
  f->form.shape = MatrixShape(shape);
  f->form.count = 1u << num;
  f->form.format = expand == 0 ? MatrixFormat::B8FromB6x16P32 : expand == 1 ? MatrixFormat::B8FromB4x16P64 : t == Type::B8 ? MatrixFormat::B8 : MatrixFormat::B16;
  try {
    f->count = checkForm(f->form, f->store);
  } catch (const Fault &fault) {
    d.fail(fault.what());
  }
  const Operand &v = d.op(f->store ? 1 : 0);
  size_t n = v.kind == Operand::Vector ? v.parts.size() : 1;
  if (n != f->count)
    d.fail("expected " + std::to_string(f->count) + " registers, found " + std::to_string(n));
  for (size_t k = 0; k < n; ++k) {
    const Operand &r = v.kind == Operand::Vector ? v.parts[k] : v;
    f->regs[k] = f->store ? d.src(r, Type::B32) : d.dst(r, 4);
  }
  AddressOperand a = d.address(d.op(f->store ? 0 : 1));
  f->wide = a.wide;
  Inst &i = d.emit(matrixMove);
  i.r[1] = a.base;
  i.imm = uint64_t(a.offset);
  i.extra = f;
}

/// movmatrix.sync.aligned.m8n8.trans.b16: an 8x8 matrix of 16-bit elements, transposed between threads.
Step moveTransposed(Warp &w, const Inst &i) {
  requireConverged(w, "movmatrix");
  uint16_t m[8][8];
  const uint32_t *a = w.reg<uint32_t>(i.r[1]);
  for (int l = 0; l < 32; ++l) {
    m[l / 4][2 * (l % 4)] = uint16_t(a[l]);
    m[l / 4][2 * (l % 4) + 1] = uint16_t(a[l] >> 16);
  }
  uint32_t *d = w.reg<uint32_t>(i.r[0]);
  for (int l = 0; l < 32; ++l)
    d[l] = m[2 * (l % 4)][l / 4] | uint32_t(m[2 * (l % 4) + 1][l / 4]) << 16;
  return Step::Next;
}
void decodeMoveTransposed(Decoder &d) {
  d.mods.take(".sync");
  d.mods.take(".aligned");
  if (!d.mods.take(".m8n8") || !d.mods.take(".trans"))
    d.fail("movmatrix exists as .m8n8.trans only");
  d.needType("the .b16");
  d.count(2, 2);
  uint32_t a = d.src(d.op(1), Type::B32), r = d.dst(d.op(0), 4);
  Inst &i = d.emit(moveTransposed);
  i.r[0] = r, i.r[1] = a;
}

// ---- mma.sync ------------------------------------------------------------------------------------------------------

struct MmaForm16 : Extra { WarpMmaForm form; std::vector<uint32_t> regs[4]; bool wide[4]; uint32_t metadata = 0; };

Step warpMma(Warp &w, const Inst &i) {
  const MmaForm16 &f = *static_cast<const MmaForm16 *>(i.extra);
  requireConverged(w, "mma.sync");
  WarpRegister regs[4][16];
  for (int k = 0; k < 4; ++k) {
    size_t n = 0;
    for (uint32_t r : f.regs[k]) {
      regs[k][n++] = {w.regs + r, f.wide[k] ? 8u : 4u};
      if (f.wide[k])
        regs[k][n++] = {w.regs + r + 4, 8u};
    }
  }
  try {
    execute(f.form, regs[0], regs[1], regs[2], regs[3], {w.regs + f.metadata, 4});
  } catch (const Fault &fault) {
    faultAt(w, -1, fault.what());
  }
  return Step::Next;
}

bool mmaType(Type t, WarpMmaType &out) {
  switch (t) {
  case Type::F16: out = WarpMmaType::F16; return true;
  case Type::BF16: out = WarpMmaType::BF16; return true;
  case Type::TF32: out = WarpMmaType::TF32; return true;
  case Type::F64: out = WarpMmaType::F64; return true;
  case Type::E4M3: out = WarpMmaType::E4M3; return true;
  case Type::E5M2: out = WarpMmaType::E5M2; return true;
  case Type::E2M3: out = WarpMmaType::E2M3; return true;
  case Type::E3M2: out = WarpMmaType::E3M2; return true;
  case Type::E2M1: out = WarpMmaType::E2M1; return true;
  case Type::S8: out = WarpMmaType::S8; return true;
  case Type::U8: out = WarpMmaType::U8; return true;
  case Type::S4: out = WarpMmaType::S4; return true;
  case Type::U4: out = WarpMmaType::U4; return true;
  case Type::B1: out = WarpMmaType::B1; return true;
  case Type::F32: out = WarpMmaType::F32; return true;
  case Type::S32: out = WarpMmaType::S32; return true;
  default: return false;
  }
}

void decodeMma(Decoder &d) {
  bool sparse = d.mods.oneOf({".sp", ".sp::ordered_metadata"}) >= 0;
  d.mods.take(".sync");
  d.mods.take(".aligned");
  std::string_view shape = d.mods.takeIf([](std::string_view m) { return m.size() > 5 && m[1] == 'm' && m[2] >= '0' && m[2] <= '9'; });
  MmaForm16 *f = d.extra<MmaForm16>();
  if (shape.empty() || std::sscanf(std::string(shape).c_str(), ".m%un%uk%u", &f->form.m, &f->form.n, &f->form.k) != 3)
    d.fail("mma needs a shape");
  auto isOrder = [](std::string_view m) { return m == ".row" || m == ".col"; };
  std::string_view orderA = d.mods.takeIf(isOrder), orderB = d.mods.takeIf(isOrder);
  if (orderA.empty() || orderB.empty())
    d.fail("mma needs an order of A and of B: .row.col");
  bool plainKind = d.mods.take(".kind::f8f6f4");  // what sm_100a has of it is what it has without
  if (!plainKind && !d.mods.takeIf([](std::string_view m) { return m.substr(0, 6) == ".kind:"; }).empty())
    d.fail("block-scaled mma.sync exists on sm_120a, not on sm_90a and sm_100a; on sm_100a tcgen05.mma scales blocks");
  f->form.rowA = orderA == ".row", f->form.rowB = orderB == ".row";
  f->form.sparse = sparse;
  f->form.satfinite = d.mods.take(".satfinite");
  bool bits = d.mods.take(".xor");
  bool band = !bits && d.mods.take(".and");
  d.mods.take(".popc");
  f->form.bitOp = band ? WarpMmaForm::BitOp::And : WarpMmaForm::BitOp::Xor;
  Type types[4];
  WarpMmaType *to[4] = {&f->form.d, &f->form.a, &f->form.b, &f->form.c};
  for (int k = 0; k < 4; ++k) {
    types[k] = d.needType("four");
    if (!mmaType(types[k], *to[k]))
      d.fail("mma.sync does not know this type");
  }
  d.count(sparse ? 6 : 4, sparse ? 6 : 4);
  if (sparse) {
    f->metadata = d.src(d.op(4), Type::B32);
    int64_t selector = d.immediate(d.op(5), "the sparsity selector");
    f->form.selector = selector < 0 || selector > 3 ? 4 : unsigned(selector);
  }
  WarpMmaRegisters want;
  try {
    want = checkForm(f->form);
  } catch (const Fault &fault) {
    d.fail(fault.what());
  }
  unsigned counts[4] = {want.d, want.a, want.b, want.c};
  for (int k = 0; k < 4; ++k) {
    const Operand &v = d.op(size_t(k));
    f->wide[k] = types[k] == Type::F64;
    size_t n = v.kind == Operand::Vector ? v.parts.size() : 1;
    if (n * (f->wide[k] ? 2 : 1) != counts[k])
      d.fail("operand " + std::to_string(k) + " of mma.sync needs " + std::to_string(counts[k] / (f->wide[k] ? 2 : 1)) + " registers, found " + std::to_string(n));
    for (size_t j = 0; j < n; ++j) {
      const Operand &r = v.kind == Operand::Vector ? v.parts[j] : v;
      f->regs[k].push_back(k == 0 ? d.dst(r, f->wide[k] ? 8 : 4) : d.src(r, f->wide[k] ? Type::B64 : Type::B32));
    }
  }
  d.emit(warpMma).extra = f;
}

} // namespace

void addMatrix(OpcodeTable &t) {
  t.add({"ldmatrix", "stmatrix"}, decodeMatrixMove);
  t.add({"movmatrix"}, decodeMoveTransposed);
  t.add({"mma"}, decodeMma);
  addWgmma(t);
  addWmma(t);
}

} // namespace fovea::emulator

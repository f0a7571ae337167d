// runtime/emulator/machine/AddressOps.cpp - instructions about addresses: prefetch and other hints, cache policies, mapa, getctarank.
#include "runtime/emulator/machine/AluOps.h"
#include "runtime/emulator/machine/MemoryAccess.h"

namespace fovea::emulator {
namespace {

Step nothing(Warp &, const Inst &) { return Step::Next; }

/// Hints without effect on results: the address is not even looked at.
void hints(Decoder &d) {  // prefetch prefetchu discard applypriority
  takeSpace(d, true);
  d.mods.oneOf({".tensormap"});
  d.mods.oneOf({".L1", ".L2"});
  d.mods.oneOf({".L2::evict_last", ".L2::evict_normal", ".L2::128B"});
  d.count(1, 2);
  d.address(d.op(0));
  d.emit(nothing);
}

void policies(Decoder &d) {  // createpolicy: an opaque 64-bit value
  bool range = d.mods.take(".range");
  if (!range)
    d.mods.oneOf({".fractional", ".cvt"});
  d.mods.takeIf([](std::string_view m) { return m.substr(0, 4) == ".L2:"; });
  d.mods.takeIf([](std::string_view m) { return m.substr(0, 4) == ".L2:"; });
  d.mods.take(".L2");
  d.mods.take(".global");
  d.mods.take(".b64");
  d.count(1, 4);
  uint32_t r = d.dst(d.op(0), 8), v = d.constant(0x12F0000000000000, 8);
  Inst &i = d.emit(FOVEA_LANE_CALL(moveHandler(8)));
  i.r[0] = r, i.r[1] = v;
}

struct MapaForm : Extra { bool wide, generic; };
Step mapa(Warp &w, const Inst &i) {
  const MapaForm &f = *static_cast<const MapaForm *>(i.extra);
  const uint32_t *rank = w.reg<uint32_t>(i.r[2]);
  size_t n = w.cta->cluster->ctas.size();
  eachLane(w.active, [&](int l) {
    if (rank[l] >= n)
      faultAt(w, l, "cluster: mapa of block rank " + std::to_string(rank[l]) + ", the cluster has " + std::to_string(n));
    uint64_t a = addressOf(w, i.r[1], f.wide, 0, l);
    a = (a & ~uint64_t(0xff000000)) | uint64_t(rank[l]) << 24;
    if (f.wide)
      w.reg<uint64_t>(i.r[0])[l] = a;
    else
      w.reg<uint32_t>(i.r[0])[l] = uint32_t(a);
  });
  return Step::Next;
}
void decodeMapa(Decoder &d) {
  d.mods.take(".shared::cluster");
  Type t = d.needType("the .u32 or .u64");
  d.count(3, 3);
  MapaForm *f = d.extra<MapaForm>();
  f->wide = ptx::bytesOf(t) == 8;
  uint32_t a = d.src(d.op(1), t), b = d.src(d.op(2), Type::U32), r = d.dst(d.op(0), ptx::bytesOf(t));
  Inst &i = d.emit(mapa);
  i.r[0] = r, i.r[1] = a, i.r[2] = b;
  i.extra = f;
}
Step getRank(Warp &w, const Inst &i) {
  eachLane(w.active, [&](int l) { w.reg<uint32_t>(i.r[0])[l] = (uint32_t(addressOf(w, i.r[1], i.imm, 0, l)) >> 24) & 0xff; });
  return Step::Next;
}
void decodeGetRank(Decoder &d) {
  d.mods.take(".shared::cluster");
  Type t = d.needType("the .u32 or .u64");
  d.count(2, 2);
  uint32_t a = d.src(d.op(1), t), r = d.dst(d.op(0), 4);
  Inst &i = d.emit(getRank);
  i.r[0] = r, i.r[1] = a;
  i.imm = ptx::bytesOf(t) == 8;
}

/// alloca, stacksave, stackrestore: each thread's own stack behind its local variables. r: d, size; imm: alignment.
constexpr uint32_t kStackBytes = 16384;
uint32_t stackBase(const Warp &w) { return w.code->localBytes - kStackBytes; }
Step allocate(Warp &w, const Inst &i) {
  const uint64_t *bytes = w.reg<uint64_t>(i.r[1]);
  uint64_t *d = w.reg<uint64_t>(i.r[0]);
  eachLane(w.active, [&](int l) {
    uint64_t at = (stackBase(w) + w.stack[l] + i.imm - 1) / i.imm * i.imm;
    if (bytes[l] > kStackBytes || at + bytes[l] > w.code->localBytes)
      faultAt(w, l, "out of bounds: alloca of " + std::to_string(bytes[l]) + " bytes, a thread's stack has " + std::to_string(kStackBytes));
    d[l] = at;
    w.stack[l] = uint32_t(at + bytes[l] - stackBase(w));
  });
  return Step::Next;
}
Step saveStack(Warp &w, const Inst &i) {
  forLanes(w, w.reg<uint64_t>(i.r[0]), [&](int l) { return uint64_t(stackBase(w) + w.stack[l]); });
  return Step::Next;
}
Step restoreStack(Warp &w, const Inst &i) {
  const uint64_t *a = w.reg<uint64_t>(i.r[0]);
  eachLane(w.active, [&](int l) {
    if (a[l] < stackBase(w) || a[l] > stackBase(w) + w.stack[l])
      faultAt(w, l, "out of bounds: stackrestore of a value that stacksave did not give");
    w.stack[l] = uint32_t(a[l] - stackBase(w));
  });
  return Step::Next;
}
void stack(Decoder &d) {
  if (d.needType("the .u64") != Type::U64)
    d.fail("the stack instructions take .u64 (addresses have 64 bits)");
  d.output().usesStack = kStackBytes;
  if (d.in->opcode != "alloca") {
    d.count(1, 1);
    bool save = d.in->opcode == "stacksave";
    uint32_t r = save ? d.dst(d.op(0), 8) : d.src(d.op(0), Type::U64);
    d.emit(save ? saveStack : restoreStack).r[0] = r;
    return;
  }
  d.count(2, 3);
  uint64_t align = d.operands() == 3 ? uint64_t(d.immediate(d.op(2), "the alignment")) : 8;
  if (!align || align & (align - 1) || align > 1024)
    d.fail("the alignment of alloca is a power of two up to 1024");
  uint32_t bytes = d.src(d.op(1), Type::U64), r = d.dst(d.op(0), 8);
  Inst &i = d.emit(allocate);
  i.r[0] = r, i.r[1] = bytes;
  i.imm = align;
}

} // namespace

void addAddressOps(OpcodeTable &t) {
  t.add({"prefetch", "prefetchu", "discard", "applypriority"}, hints);
  t.add({"createpolicy"}, policies);
  t.add({"alloca", "stacksave", "stackrestore"}, stack);
  t.add({"mapa"}, decodeMapa);
  t.add({"getctarank"}, decodeGetRank);
}

} // namespace fovea::emulator

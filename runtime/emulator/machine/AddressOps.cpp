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

} // namespace

void addAddressOps(OpcodeTable &t) {
  t.add({"prefetch", "prefetchu", "discard", "applypriority"}, hints);
  t.add({"createpolicy"}, policies);
  t.add({"mapa"}, decodeMapa);
  t.add({"getctarank"}, decodeGetRank);
}

} // namespace fovea::emulator

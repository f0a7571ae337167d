// runtime/emulator/machine/Misc.cpp - cluster launch control.
#include "runtime/emulator/machine/CopyOps.h"
#include <cstring>

namespace fovea::emulator {
namespace {

/// The 16-byte response: valid flag, then x, y, z of the cancelled cluster's first block. The layout is the machine's own.
struct TryCancel : AsyncOp {
  std::vector<std::pair<SharedPlace, SharedPlace>> to;
  bool moved = false;
  bool step(Cluster &c) override {
    Launch &launch = *c.launch;
    if (!moved) {
      uint64_t index = launch.nextCluster.fetch_add(1);
      uint32_t response[4] = {0, 0, 0, 0};
      if (index < launch.clusterCount) {
        const LaunchConfig &k = *launch.config;
        uint64_t nx = k.grid[0] / k.cluster[0], ny = k.grid[1] / k.cluster[1];
        response[0] = 1;
        response[1] = uint32_t(index % nx) * k.cluster[0];
        response[2] = uint32_t(index / nx % ny) * k.cluster[1];
        response[3] = uint32_t(index / nx / ny) * k.cluster[2];
      }
      for (auto &[data, barrier] : to) {
        std::memcpy(data.cta->shared.data() + data.offset, response, 16);
        if (Observer *o = launch.config->observer)
          o->asyncShared(c, *this, Proxy::Async, Access::Write, *data.cta, data.offset, 16);
      }
      moved = true;
      return false;
    }
    for (auto &[data, barrier] : to)
      signalBytes(c, *this, barrier, 16);
    return true;
  }
};
struct CancelForm : Extra { bool wideTo, wideBar, all; int64_t offsetTo, offsetBar; Where where; };

Step tryCancel(Warp &w, const Inst &i) {
  const CancelForm &f = *static_cast<const CancelForm *>(i.extra);
  eachLane(w.active, [&](int l) {
    auto op = std::make_unique<TryCancel>();
    SharedPlace to = sharedPlace(w, f.where, addressOf(w, i.r[1], f.wideTo, f.offsetTo, l), 16, l, "try_cancel");
    SharedPlace bar = sharedPlace(w, f.where, addressOf(w, i.r[2], f.wideBar, f.offsetBar, l), 8, l, "mbarrier of try_cancel");
    if (to.offset % 16)
      faultAt(w, l, "misaligned: the response of try_cancel must be 16-byte aligned");
    if (f.all)
      for (auto &cta : w.cta->cluster->ctas)
        op->to.push_back({{cta.get(), to.offset}, {cta.get(), bar.offset}});
    else
      op->to.push_back({to, bar});
    issueAsync(w, i, l, std::move(op));
  });
  return Step::Next;
}
Step isCanceled(Warp &w, const Inst &i) {
  const uint64_t *a = w.reg<uint64_t>(i.r[1]);
  uint32_t &p = w.pred(i.r[0]);
  p = maskLanes(w, p, [=](int l) { return uint32_t(a[l]) == 1; });
  return Step::Next;
}
/// r[0..3]: destinations of x, y, z, w (or the sink); r[4]: the response.
Step firstCta(Warp &w, const Inst &i) {
  const uint64_t *a = w.reg<uint64_t>(i.r[4]);
  eachLane(w.active, [&](int l) {
    uint32_t v[4] = {uint32_t(a[l] >> 32), uint32_t(a[32 + l]), uint32_t(a[32 + l] >> 32), 0};
    if (uint32_t(a[l]) != 1)
      v[0] = v[1] = v[2] = kPoison;
    for (int k = 0; k < 4; ++k)
      w.reg<uint32_t>(i.r[k])[l] = v[k];
  });
  return Step::Next;
}
Step oneCta(Warp &w, const Inst &i) {
  const uint64_t *a = w.reg<uint64_t>(i.r[4]);
  eachLane(w.active, [&](int l) {
    uint32_t v[3] = {uint32_t(a[l] >> 32), uint32_t(a[32 + l]), uint32_t(a[32 + l] >> 32)};
    w.reg<uint32_t>(i.r[0])[l] = uint32_t(a[l]) == 1 ? v[i.imm] : kPoison;
  });
  return Step::Next;
}

void launchControl(Decoder &d) {
  if (d.smArch() < 100)
    d.fail("clusterlaunchcontrol exists from sm_100 on");
  if (d.mods.take(".try_cancel")) {
    CancelForm *f = d.extra<CancelForm>();
    d.mods.take(".async");
    f->where = d.mods.take(".shared::cta") ? Where::Shared : Where::Generic;
    if (!d.mods.take(".mbarrier::complete_tx::bytes"))
      d.fail("try_cancel needs .mbarrier::complete_tx::bytes");
    f->all = d.mods.take(".multicast::cluster::all");
    d.mods.take(".b128");
    d.count(2, 2);
    AddressOperand a = d.address(d.op(0)), b = d.address(d.op(1));
    f->wideTo = a.wide, f->wideBar = b.wide, f->offsetTo = a.offset, f->offsetBar = b.offset;
    Inst &i = d.emit(tryCancel);
    i.r[1] = a.base, i.r[2] = b.base;
    i.extra = f;
    return;
  }
  if (!d.mods.take(".query_cancel"))
    d.fail("expected clusterlaunchcontrol.try_cancel or .query_cancel");
  int what = d.mods.oneOf({".is_canceled", ".get_first_ctaid", ".get_first_ctaid::x", ".get_first_ctaid::y", ".get_first_ctaid::z"});
  d.mods.take(".v4");
  d.mods.take(".pred");
  d.mods.take(".b32");
  d.mods.take(".b128");
  d.count(2, 2);
  uint32_t a = d.src(d.op(1), Type::B128);
  if (what == 0) {
    uint32_t p = d.dstPred(d.op(0));
    Inst &i = d.emit(isCanceled);
    i.r[0] = p, i.r[1] = a;
  } else if (what == 1) {
    const Operand &v = d.op(0);
    if (v.kind != Operand::Vector || v.parts.size() != 4)
      d.fail("get_first_ctaid.v4 writes four registers");
    uint32_t r[4];
    for (size_t k = 0; k < 4; ++k)
      r[k] = d.dst(v.parts[k], 4);
    Inst &i = d.emit(firstCta);
    std::copy(r, r + 4, i.r);
    i.r[4] = a;
  } else if (what > 1) {
    uint32_t r = d.dst(d.op(0), 4);
    Inst &i = d.emit(oneCta);
    i.r[0] = r, i.r[4] = a;
    i.imm = uint64_t(what - 2);
  } else {
    d.fail("query_cancel needs .is_canceled or .get_first_ctaid");
  }
}

} // namespace

void addMisc(OpcodeTable &t) { t.add({"clusterlaunchcontrol"}, launchControl); }

} // namespace fovea::emulator

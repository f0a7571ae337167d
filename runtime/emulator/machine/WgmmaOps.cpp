// runtime/emulator/machine/WgmmaOps.cpp - wgmma.fence, mma_async, commit_group, wait_group.
#include "runtime/emulator/machine/CopyOps.h"
#include "runtime/emulator/machine/tensor/Wgmma.h"
#include <cstdio>

namespace fovea::emulator {
namespace {

struct Form : Extra {
  WgmmaForm form;
  std::vector<uint32_t> d;
  uint32_t a[4] = {}, metadata = 0;
  bool constantScale = false;
};

uint64_t streamKey(const Warp &w) { return uint64_t(2) << 60 | uint64_t(w.cta->rank) << 32 | w.id / 4; }

WgmmaStream &streamOf(Warp &w) {
  auto &all = w.cta->wgmmaStreams;
  size_t group = w.id / 4;
  if (all.size() <= group)
    all.resize(group + 1);
  if (!all[group]) {
    if (w.cta->warps.size() < (group + 1) * 4)
      faultAt(w, -1, "wgmma: a warp group has four warps, this block ends inside one");
    all[group] = std::make_unique<WgmmaStream>();
  }
  return *all[group];
}

struct Product : AsyncOp {
  Product() { kind = AsyncKind::Wgmma; }
  const Form *form = nullptr;
  WgmmaStream *stream = nullptr;
  uint64_t index = 0;
  bool step(Cluster &c) override {
    WgmmaStream::Op &op = stream->ops[size_t(index - stream->first)];
    Cta &cta = *issuer->cta;
    size_t first = issuer->id / 4 * 4, n = form->d.size();
    WarpRegister d[4 * 128], a[16], metadata[4];
    for (size_t k = 0; k < 4; ++k) {
      Warp &w = *cta.warps[first + k];
      for (size_t r = 0; r < n; ++r)
        d[k * n + r].lanes = w.regs + form->d[r];
      for (size_t r = 0; r < 4; ++r)
        a[k * 4 + r].lanes = w.regs + form->a[r];
      metadata[k].lanes = w.regs + form->metadata;
    }
    if (Observer *o = c.launch->config->observer)
      touched(form->form, op.a, op.b, [&](const Touched &t) {
        o->asyncSharedBlocks(c, *this, Proxy::Tensor, Access::Read, cta, t.address, t.blocks);
      });
    execute(form->form, cta.span(), op.a, a, op.b, op.scaleD, d, metadata);
    op.done = true;
    while (!stream->ops.empty() && stream->ops.front().done) {
      stream->ops.pop_front();
      ++stream->first;
    }
    cta.wake(Wait::Wgmma, streamKey(*issuer));
    return true;
  }
};

/// r: a descriptor, b descriptor, scale-d predicate.
Step product(Warp &w, const Inst &i) {
  requireConverged(w, "wgmma.mma_async");
  const Form &f = *static_cast<const Form *>(i.extra);
  WgmmaStream &s = streamOf(w);
  unsigned k = w.id % 4;
  bool serial = w.code->serialWgmma;
  if (serial && w.group->token) {  // woken: this one is issued already
    if (s.first < w.group->token)
      return park(w, Wait::Wgmma, streamKey(w));
    w.group->token = 0;
    return Step::Next;
  }
  uint64_t index = s.issued[k]++;
  bool scale = w.pred(i.r[2]) & 1;
  uint64_t a = f.form.aInRegisters ? 0 : w.reg<uint64_t>(i.r[0])[0], b = w.reg<uint64_t>(i.r[1])[0];
  if (index - s.first == s.ops.size()) {
    s.ops.push_back({w.group->pc, 0, a, b, scale, false});
  }
  WgmmaStream::Op &op = s.ops[size_t(index - s.first)];
  if (op.pc != w.group->pc || op.a != a || op.b != b || op.scaleD != scale)
    faultAt(w, 0, "wgmma: the four warps of the warp group must execute the same wgmma.mma_async with the same descriptors");
  op.warps |= 1u << k;
  ++w.cta->cluster->progress;
  if (op.warps == 15) {
    auto work = std::make_unique<Product>();
    work->form = &f;
    work->stream = &s;
    work->index = index;
    issueAsync(w, i, 0, std::move(work), streamKey(w));
  }
  if (serial && s.first <= index) {
    w.group->token = index + 1;
    return park(w, Wait::Wgmma, streamKey(w));
  }
  return Step::Next;
}

Step commit(Warp &w, const Inst &) {
  requireConverged(w, "wgmma.commit_group");
  WgmmaStream &s = streamOf(w);
  s.groups[w.id % 4].push_back(s.issued[w.id % 4]);
  return Step::Next;
}

Step wait(Warp &w, const Inst &i) {
  requireConverged(w, "wgmma.wait_group");
  WgmmaStream &s = streamOf(w);
  auto &groups = s.groups[w.id % 4];
  if (groups.size() > i.imm) {
    uint64_t target = groups[groups.size() - 1 - size_t(i.imm)];
    // `first` is the oldest unfinished instruction; they finish in order.
    if (s.first < target)
      return park(w, Wait::Wgmma, streamKey(w));
    while (groups.size() > i.imm)
      groups.pop_front();
    if (Observer *o = w.cta->cluster->launch->config->observer)
      o->groupWaited(w, i, AsyncKind::Wgmma, target, false);
  }
  return Step::Next;
}

Step fence(Warp &w, const Inst &i) {
  requireConverged(w, "wgmma.fence");
  if (Observer *o = w.cta->cluster->launch->config->observer)
    o->fence(w, i, Fence::WgmmaFence);
  return Step::Next;
}

void wgmma(Decoder &d) {
  if (d.smArch() != 90)
    d.fail("wgmma exists on sm_90a only");
  int op = d.mods.oneOf({".fence", ".mma_async", ".commit_group", ".wait_group"});
  bool sparse = op == 1 && d.mods.take(".sp");
  if (op < 0 || !d.mods.take(".sync"))
    d.fail("expected wgmma.{fence,mma_async,commit_group,wait_group}.sync.aligned");
  d.mods.take(".aligned");
  if (op != 1) {
    d.count(op == 3 ? 1 : 0, op == 3 ? 1 : 0);
    uint64_t n = op == 3 ? uint64_t(d.immediate(d.op(0), "the number of groups")) : 0;
    if (op == 0)
      d.wgmmaFenced();
    d.emit(op == 0 ? fence : op == 2 ? commit : wait).imm = n;
    if (op == 2)
      d.wgmmaCommitted();
    else if (op == 3)
      d.wgmmaWaited(n);
    return;
  }
  Form *f = d.extra<Form>();
  std::string_view shape = d.mods.takeIf([](std::string_view m) { return m.size() > 5 && m.substr(0, 4) == ".m64"; });
  unsigned k = 0;
  if (shape.empty() || std::sscanf(std::string(shape).c_str(), ".m64n%uk%u", &f->form.n, &k) != 2)
    d.fail("wgmma.mma_async needs a shape .m64nNkK");
  Type t[3] = {d.needType("three"), d.needType("three"), d.needType("three")};
  f->form.d = t[0] == Type::F32 ? WgmmaResult::F32 : t[0] == Type::F16 ? WgmmaResult::F16 : WgmmaResult::S32;
  if (t[0] != Type::F32 && t[0] != Type::F16 && t[0] != Type::S32)
    d.fail("wgmma accumulates in .f32, .f16 or .s32");
  for (int s = 0; s < 2; ++s) {
    WgmmaType &to = s ? f->form.b : f->form.a;
    switch (t[s + 1]) {
    case Type::F16: to = WgmmaType::F16; break;
    case Type::BF16: to = WgmmaType::BF16; break;
    case Type::TF32: to = WgmmaType::TF32; break;
    case Type::E4M3: to = WgmmaType::E4M3; break;
    case Type::E5M2: to = WgmmaType::E5M2; break;
    case Type::S8: to = WgmmaType::S8; break;
    case Type::U8: to = WgmmaType::U8; break;
    case Type::B1: to = WgmmaType::B1; break;
    default: d.fail("wgmma does not know this type");
    }
  }
  f->form.satfinite = d.mods.take(".satfinite");
  if (t[1] == Type::B1) {
    d.mods.take(".and");
    d.mods.take(".popc");
  }
  f->form.aInRegisters = d.op(1).kind == Operand::Vector;
  bool integer = f->form.d == WgmmaResult::S32, sixteen = t[1] == Type::F16 || t[1] == Type::BF16;
  f->form.sparse = sparse;
  const size_t behind = sparse ? 5 : 3;  // .sp: metadata and selector stand behind the descriptors
  size_t want = behind - 3 + (integer ? 4 : sixteen ? (f->form.aInRegisters ? 7 : 8) : 6);
  d.count(want, want);
  auto sign = [&](size_t at) {
    int64_t v = d.immediate(d.op(at), "1 or -1");
    if (v != 1 && v != -1)
      d.fail("the scale of an operand is 1 or -1");
    return v == -1;
  };
  if (!integer) {
    f->form.negateA = sign(behind + 1);
    f->form.negateB = sign(behind + 2);
  }
  if (sixteen) {
    size_t at = behind + 3;
    if (!f->form.aInRegisters)
      f->form.transA = d.immediate(d.op(at++), "0 or 1") != 0;
    f->form.transB = d.immediate(d.op(at), "0 or 1") != 0;
  }
  if (sparse) {
    f->metadata = d.src(d.op(3), Type::B32);
    int64_t selector = d.immediate(d.op(4), "the sparsity selector");
    f->form.selector = selector < 0 || selector > 3 ? 4 : unsigned(selector);
  }
  size_t registers = 0;
  try {
    if (checkForm(f->form) != k)
      d.fail("K of this type is " + std::to_string(checkForm(f->form)) + ", found " + std::to_string(k));
    registers = resultRegisters(f->form);
  } catch (const Fault &fault) {
    d.fail(fault.what());
  }
  const Operand &v = d.op(0);
  if (v.kind != Operand::Vector || v.parts.size() != registers)
    d.fail("the accumulator needs " + std::to_string(registers) + " registers");
  for (const Operand &r : v.parts)
    f->d.push_back(d.dst(r, 4));
  uint32_t a = 0;
  if (f->form.aInRegisters) {
    if (d.op(1).parts.size() != 4)
      d.fail("A in registers needs 4 registers");
    for (size_t r = 0; r < 4; ++r)
      f->a[r] = d.src(d.op(1).parts[r], Type::B32);
  } else {
    a = d.src(d.op(1), Type::B64);
  }
  d.wgmmaIssued(f->d);
  d.wgmmaUses(f->d);
  if (f->form.aInRegisters)
    d.wgmmaUses({f->a[0], f->a[1], f->a[2], f->a[3]});
  uint32_t b = d.src(d.op(2), Type::B64), scale = d.srcPred(d.op(behind));
  Inst &i = d.emit(product);
  i.r[0] = a, i.r[1] = b, i.r[2] = scale;
  i.extra = f;
}

} // namespace

void addWgmma(OpcodeTable &t) { t.add({"wgmma"}, wgmma); }

} // namespace fovea::emulator

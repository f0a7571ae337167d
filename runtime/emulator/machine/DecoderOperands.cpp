// runtime/emulator/machine/DecoderOperands.cpp - registers, constants, symbols and addresses of one instruction.
#include "runtime/emulator/machine/AluOps.h"
#include "runtime/emulator/machine/Decoder.h"
#include <algorithm>
#include <cstring>

namespace fovea::emulator {

static constexpr uint32_t kMaxRegisterBytes = 64u << 20;

static int containerBytes(Type t) {
  int b = ptx::bytesOf(t);
  return t == Type::Pred ? 0 : b < 2 ? 2 : b;
}

uint32_t Decoder::allocate(int bytes) {
  uint32_t size = bytes == 0 ? 4 : uint32_t(std::max(bytes, 2)) * 32;
  if (bytes)
    next = (next + 63) & ~63u;
  uint32_t at = next;
  next += size;
  if (next > kMaxRegisterBytes)
    fail("kernel uses too many registers");
  return at;
}

uint32_t Decoder::registerAt(uint32_t reg) {
  uint32_t &at = frame->registers[reg];
  if (at == ~0u)
    at = allocate(containerBytes(frame->function->registers[reg].type));
  return at;
}

uint32_t Decoder::temporary(int bytes) { return allocate(bytes); }
uint32_t Decoder::temporaryPred() { return allocate(0); }

int Decoder::widthOf(const Operand &o) const {
  return o.kind == Operand::Register ? containerBytes(frame->function->registers[o.reg].type) : 0;
}

uint32_t Decoder::anyRegister(const Operand &o, int &bytes) {
  if (o.kind == Operand::Sink)
    return sink;
  if (o.kind != Operand::Register)
    fail("expected a register operand");
  bytes = widthOf(o);
  return registerAt(o.reg);
}

static std::string operandText(const Operand &o) { return o.text.empty() ? "operand" : "'" + std::string(o.text) + "'"; }

uint32_t Decoder::dst(const Operand &o, int bytes) {
  if (o.kind == Operand::Sink)
    return sink;
  if (o.kind != Operand::Register)
    fail("the destination must be a register");
  int have = widthOf(o);
  if (have != std::max(bytes, 2))
    fail("register " + operandText(o) + " is " + (have ? std::to_string(have * 8) + " bits wide" : "a predicate") +
         ", the instruction writes " + std::to_string(bytes * 8));
  return registerAt(o.reg);
}

uint32_t Decoder::dstPred(const Operand &o) {
  if (o.kind == Operand::Sink)
    return sink;
  if (o.kind != Operand::Register || widthOf(o) != 0)
    fail("the destination must be a predicate register");
  return registerAt(o.reg);
}

Step runNotPred(Warp &, const Inst &);

uint32_t Decoder::srcPred(const Operand &o) {
  if (o.kind == Operand::Integer) {
    bool value = (o.integer != 0) != o.negated;
    if (value)
      return kTrue;
    return constant(0, 0);
  }
  if (o.kind == Operand::Special && o.text == "%is_explicit_cluster")
    return special(o, 0);
  if (o.kind != Operand::Register || widthOf(o) != 0)
    fail("expected a predicate register, found " + operandText(o));
  uint32_t at = registerAt(o.reg);
  if (!o.negated)
    return at;
  uint32_t t = allocate(0);
  Inst &i = emit(runNotPred);
  i.r[0] = t;
  i.r[1] = at;
  return t;
}

uint32_t Decoder::constant(uint64_t bits, int bytes, bool sharedBase) {
  auto key = std::make_tuple(bits, bytes, sharedBase);
  auto it = constantPool.find(key);
  if (it != constantPool.end())
    return it->second;
  uint32_t at = allocate(bytes);
  code->constants.push_back({at, uint32_t(bytes), bits, 0, sharedBase ? Code::Constant::SharedBase : Code::Constant::Plain});
  constantPool.emplace(key, at);
  return at;
}

uint64_t Decoder::constantBits(uint32_t offset) const {
  for (const Code::Constant &c : code->constants)
    if (c.offset == offset)
      return c.low;
  return 0;
}

uint32_t Decoder::src(const Operand &o, Type t) {
  int bytes = containerBytes(t);
  uint64_t bits = uint64_t(o.integer);
  switch (o.kind) {
  case Operand::Register: {
    if (o.negated)
      fail("'!' is for predicates");
    int have = widthOf(o);
    if (have != bytes)
      fail("register " + operandText(o) + " is " + (have ? std::to_string(have * 8) + " bits wide" : "a predicate") +
           ", the instruction reads " + std::to_string(bytes * 8));
    if (!o.integer)
      return registerAt(o.reg);
    if (bytes != 4 && bytes != 8)
      fail("a sum needs a 32- or 64-bit register");
    uint32_t sum = allocate(bytes), offset = constant(uint64_t(o.integer) & (bytes == 4 ? 0xffffffffu : ~uint64_t(0)), bytes);
    Inst &i = emit(FOVEA_LANE_CALL(integerHandler(IntOp::Add, bytes == 4 ? Type::U32 : Type::U64)));
    i.r[0] = sum, i.r[1] = registerAt(o.reg), i.r[2] = offset;
    return sum;
  }
  case Operand::Float32:
    if (t == Type::F64) {
      float f;
      uint32_t b = uint32_t(bits);
      std::memcpy(&f, &b, 4);
      double d = f;
      std::memcpy(&bits, &d, 8);
    }
    return constant(bits, bytes);
  case Operand::Float64:
    if (bytes == 4) {
      double d;
      std::memcpy(&d, &bits, 8);
      float f = float(d);
      uint32_t b;
      std::memcpy(&b, &f, 4);
      bits = b;
    } else if (bytes < 4) {
      fail("a decimal constant cannot be a 16-bit operand; write its bits in hexadecimal");
    }
    return constant(bits, bytes);
  case Operand::Integer: {
    if (t == Type::F32 || t == Type::F64) {
      // Plain integers are not float constants in PTX; zero bits are common in practice.
      if (bits != 0 && bits > 0xffffffffu && t == Type::F32)
        fail("integer constant as a float operand");
    }
    if (bytes < 8)
      bits &= (uint64_t(1) << (8 * ptx::bytesOf(t))) - 1;
    if (bytes == 2 && ptx::bytesOf(t) == 1 && ptx::isSigned(t))
      bits = uint16_t(int16_t(int8_t(bits)));
    return constant(bits, bytes);
  }
  case Operand::Symbol:
    return symbolAddress(o, bytes);
  case Operand::Special:
    return special(o, bytes);
  case Operand::Name:
    fail("'" + std::string(o.text) + "' is not declared (or names a function: function addresses are not supported)");
  default:
    fail("operand of this kind is not allowed here");
  }
}

int64_t Decoder::immediate(const Operand &o, const char *what) const {
  if (o.kind != Operand::Integer)
    fail(std::string("expected a constant: ") + what);
  return o.integer;
}

uint64_t Decoder::variableAddress(const Operand &o, Space &space, bool &isEntryParam) {
  isEntryParam = false;
  const ptx::Variable &v = o.global ? module.variables[o.reg] : frame->function->variables[o.reg];
  space = v.space;
  auto placeShared = [&] {
    uint64_t align = std::max<uint64_t>(v.align, 1);
    if (v.unsized || (v.external && !v.bytes)) {
      // Dynamic shared memory starts behind all static variables; resolved when the size is known.
      code->sharedAlign = std::max<uint32_t>(code->sharedAlign, uint32_t(align));
      return ~uint64_t(0);
    }
    uint64_t at = (sharedNext + align - 1) / align * align;
    if (v.bytes > (1u << 24) || at + v.bytes > (1u << 24))
      fail("shared variable '" + v.name + "' does not fit");
    sharedNext = uint32_t(at + v.bytes);
    return at;
  };
  if (o.global) {
    if (v.space != Space::Shared)
      return layout.globals.at(o.reg);
    auto it = sharedGlobals.find(o.reg);
    if (it == sharedGlobals.end())
      it = sharedGlobals.emplace(o.reg, placeShared()).first;
    return it->second;
  }
  if (!frame->placed[o.reg]) {
    frame->placed[o.reg] = 1;
    if (v.space == Space::Shared) {
      frame->variables[o.reg] = placeShared();
    } else if (v.space == Space::Local || v.space == Space::Param) {
      uint64_t align = std::max<uint64_t>(v.align, 1);
      uint64_t at = (localNext + align - 1) / align * align;
      if (v.bytes > (1u << 20) || at + v.bytes > (1u << 20))
        fail("thread-local memory exceeds 1 MiB");
      frame->variables[o.reg] = at;
      localNext = uint32_t(at + v.bytes);
    } else {
      fail("a .global or .const variable inside a function is not supported; declare it at module level");
    }
  }
  if (v.space == Space::Param && frame->isEntry)
    isEntryParam = std::find(entry.params.begin(), entry.params.end(), o.reg) != entry.params.end();
  return frame->variables[o.reg];
}

/// The address of a variable as a constant: in its own state space, as `mov` gives it.
uint32_t Decoder::symbolAddress(const Operand &o, int bytes) {
  if (bytes < 4)
    fail("an address does not fit in 16 bits");
  Space space;
  bool entryParam;
  uint64_t at = variableAddress(o, space, entryParam);
  if (space == Space::Shared) {
    if (at == ~uint64_t(0))
      return constant(uint64_t(o.integer) | uint64_t(1) << 62, bytes, true);  // bit 62: behind the static part
    return constant(at + uint64_t(o.integer), bytes, true);
  }
  if (space == Space::Param && !entryParam)
    at |= uint64_t(1) << 30;  // thread-local: see paramAt() in Memory.cpp
  return constant(at + uint64_t(o.integer), bytes);
}

AddressOperand Decoder::addressPart(const Operand &part) {
  AddressOperand a;
  a.offset = part.integer;
  switch (part.kind) {
  case Operand::Register: {
    int bytes = widthOf(part);
    if (bytes != 4 && bytes != 8)
      fail("the address register " + operandText(part) + " must have 32 or 64 bits");
    a.base = registerAt(part.reg);
    a.wide = bytes == 8;
    return a;
  }
  case Operand::Integer:
    a.base = constant(uint64_t(part.integer), 8);
    a.offset = 0;
    return a;
  case Operand::Symbol: {
    Space space;
    bool entryParam;
    variableAddress(part, space, entryParam);
    Operand base = part;
    base.integer = 0;
    a.base = symbolAddress(base, 8);
    a.entryParam = entryParam;
    a.localParam = space == Space::Param && !entryParam;
    return a;
  }
  case Operand::Name:
    fail("'" + std::string(part.text) + "' is not declared");
  default:
    fail("expected an address: register, variable or constant, with an optional offset");
  }
}

AddressOperand Decoder::address(const Operand &o) {
  if (o.kind != Operand::Address || o.parts.empty())
    fail("expected an address in [ ]");
  return addressPart(o.parts[0]);
}

void Decoder::bindParameter(Frame &callee, uint32_t formal, const Operand &actual, bool result) {
  if (formal >= (1u << 31)) {  // .reg formal
    uint32_t reg = ~formal;
    int bytes = containerBytes(callee.function->registers[reg].type);
    callee.registers[reg] = bytes == 0 ? (result ? dstPred(actual) : srcPred(actual))
                            : result   ? dst(actual, bytes)
                                       : src(actual, callee.function->registers[reg].type);
    return;
  }
  const ptx::Variable &v = callee.function->variables[formal];
  if (actual.kind != Operand::Symbol)
    fail("argument for .param '" + v.name + "' must be a .param variable");
  Space space;
  bool entryParam;
  uint64_t at = variableAddress(actual, space, entryParam);
  const ptx::Variable &given = frame->function->variables[actual.reg];
  if (space != Space::Param || entryParam || actual.global || given.bytes < v.bytes)
    fail("argument for .param '" + v.name + "' does not fit");
  callee.variables[formal] = at;
  callee.placed[formal] = 1;
}

uint32_t Decoder::special(const Operand &o, int bytes) {
  using S = SpecialRegister;
  static const std::map<std::string_view, S> fixed = {
      {"%tid.x", S::TidX}, {"%tid.y", S::TidY}, {"%tid.z", S::TidZ}, {"%tid", S::TidX}, {"%ntid.x", S::NtidX},
      {"%ntid.y", S::NtidY}, {"%ntid.z", S::NtidZ}, {"%ctaid.x", S::CtaidX}, {"%ctaid.y", S::CtaidY},
      {"%ctaid.z", S::CtaidZ}, {"%nctaid.x", S::NctaidX}, {"%nctaid.y", S::NctaidY}, {"%nctaid.z", S::NctaidZ},
      {"%laneid", S::LaneId}, {"%warpid", S::WarpId}, {"%nwarpid", S::NwarpId}, {"%smid", S::SmId}, {"%nsmid", S::NsmId},
      {"%gridid", S::GridId}, {"%clusterid.x", S::ClusteridX}, {"%clusterid.y", S::ClusteridY},
      {"%clusterid.z", S::ClusteridZ}, {"%nclusterid.x", S::NclusteridX}, {"%nclusterid.y", S::NclusteridY},
      {"%nclusterid.z", S::NclusteridZ}, {"%cluster_ctaid.x", S::ClusterCtaidX}, {"%cluster_ctaid.y", S::ClusterCtaidY},
      {"%cluster_ctaid.z", S::ClusterCtaidZ}, {"%cluster_nctaid.x", S::ClusterNctaidX},
      {"%cluster_nctaid.y", S::ClusterNctaidY}, {"%cluster_nctaid.z", S::ClusterNctaidZ},
      {"%cluster_ctarank", S::ClusterCtarank}, {"%cluster_nctarank", S::ClusterNctarank},
      {"%is_explicit_cluster", S::IsExplicitCluster}, {"%lanemask_eq", S::LaneMaskEq}, {"%lanemask_le", S::LaneMaskLe},
      {"%lanemask_lt", S::LaneMaskLt}, {"%lanemask_ge", S::LaneMaskGe}, {"%lanemask_gt", S::LaneMaskGt},
      {"%total_smem_size", S::TotalSmem}, {"%dynamic_smem_size", S::DynamicSmem}, {"%aggr_smem_size", S::AggrSmem},
      {"%reserved_smem_offset_begin", S::ReservedSmemBegin}, {"%reserved_smem_offset_end", S::ReservedSmemEnd},
      {"%reserved_smem_offset_cap", S::ReservedSmemCap}};
  static const std::map<std::string_view, int> clocks = {
      {"%clock", 0}, {"%clock_hi", 1}, {"%clock64", 2}, {"%globaltimer", 3}, {"%globaltimer_lo", 4}, {"%globaltimer_hi", 5}};
  auto clock = clocks.find(o.text);
  if (clock != clocks.end()) {
    int width = clock->second == 2 || clock->second == 3 ? 8 : 4;
    if (bytes != width)
      fail("'" + std::string(o.text) + "' has " + std::to_string(width * 8) + " bits");
    uint32_t t = allocate(bytes);
    Inst &i = emit(readClock);
    i.r[0] = t;
    i.imm = uint64_t(clock->second);
    return t;
  }
  if (bytes != 4 && bytes != 8 && bytes != 2 && bytes != 0)
    fail("'" + std::string(o.text) + "' cannot be read at this width");
  auto it = fixed.find(o.text);
  if (it == fixed.end()) {
    // Not set by this driver: environment registers, performance counters, the graph that runs; regions that the system reserves.
    auto named = [&](std::string_view head) { return o.text.substr(0, head.size()) == head; };
    if (named("%envreg") || named("%pm") || named("%reserved_smem_offset_") || o.text == "%current_graph_exec")
      return constant(0, bytes);
    std::vector<std::string_view> names;
    for (auto &f : fixed)
      names.push_back(f.first);
    for (auto &c : clocks)
      names.push_back(c.first);
    std::string near = ptx::nearest(o.text, names);
    fail("'" + std::string(o.text) + "' is not declared and no special register known here" +
         (near.empty() ? "" : "; the nearest known one is '" + near + "'"));
  }
  std::string key = std::string(o.text) + "/" + std::to_string(bytes);
  auto pooled = specialPool.find(key);
  if (pooled != specialPool.end())
    return pooled->second;
  uint32_t at = allocate(bytes);
  code->specials.push_back({at, uint8_t(it->second), uint8_t(bytes)});
  specialPool.emplace(key, at);
  return at;
}

} // namespace fovea::emulator

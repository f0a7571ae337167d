// runtime/emulator/machine/Decoder.cpp - functions, calls, control flow, and the checks around each instruction.
#include "runtime/emulator/machine/Decoder.h"
#include <algorithm>

namespace fovea::emulator {

static constexpr size_t kMaxInsts = 8u << 20;

void Modifiers::reset(const std::vector<std::string_view> &from) {
  list = from;
  used.assign(list.size(), false);
  candidates.clear();
}

bool Modifiers::take(std::string_view m) {
  candidates.push_back(m);
  for (size_t i = 0; i < list.size(); ++i)
    if (!used[i] && list[i] == m) {
      used[i] = true;
      return true;
    }
  return false;
}

int Modifiers::oneOf(std::initializer_list<std::string_view> choices) {
  int found = -1, index = 0;
  for (std::string_view c : choices) {
    if (found < 0 && take(c))
      found = index;
    else
      candidates.push_back(c);
    ++index;
  }
  return found;
}

Type Modifiers::type() {
  for (size_t i = 0; i < list.size(); ++i)
    if (!used[i] && ptx::typeNamed(list[i]) != Type::None) {
      used[i] = true;
      return ptx::typeNamed(list[i]);
    }
  return Type::None;
}

std::string_view Modifiers::takeIf(const std::function<bool(std::string_view)> &is) {
  for (size_t i = 0; i < list.size(); ++i)
    if (!used[i] && is(list[i])) {
      used[i] = true;
      return list[i];
    }
  return {};
}

std::string_view Modifiers::leftover() const {
  for (size_t i = 0; i < list.size(); ++i)
    if (!used[i])
      return list[i];
  return {};
}

const OpcodeTable &OpcodeTable::get() {
  static const OpcodeTable table = [] {
    OpcodeTable t;
    addInteger(t), addFloat(t), addConvert(t), addMove(t), addMemory(t), addAtomic(t), addControl(t), addBarrier(t);
    addMbarrier(t), addWarpOps(t), addAsyncCopy(t), addTensorCopy(t), addMatrix(t), addTcgen05(t), addMisc(t);
    return t;
  }();
  return table;
}

Decoder::Decoder(const ptx::Module &module, const ptx::Function &entry, const ModuleLayout &layout)
    : module(module), entry(entry), layout(layout) {
  for (const ptx::Function &f : module.functions)
    hasWgmma |= std::any_of(f.body.begin(), f.body.end(), [](const ptx::Instruction &i) { return i.opcode == "wgmma"; });
}

void Decoder::fail(const std::string &message) const {
  int line = in ? in->line : entry.line;
  throw ptx::LoadError(line, message, module.lineText(line));
}

void Decoder::count(size_t least, size_t most) const {
  if (in->operands.size() < least || in->operands.size() > most)
    fail("'" + std::string(in->opcode) + "' takes " + std::to_string(least) +
         (most > least ? " to " + std::to_string(most) : "") + " operands, found " + std::to_string(in->operands.size()));
}

const Operand &Decoder::op(size_t i) const {
  if (i >= in->operands.size())
    fail("'" + std::string(in->opcode) + "' has too few operands");
  return in->operands[i];
}

Type Decoder::needType(const char *what) {
  Type t = mods.type();
  if (t == Type::None)
    fail(std::string("'") + std::string(in->opcode) + "' needs " + what + " type");
  return t;
}

Inst &Decoder::emit(Handler h) {
  if (code->insts.size() >= kMaxInsts)
    fail("kernel has more than " + std::to_string(kMaxInsts) + " instructions after inlining");
  Inst i;
  i.run = h;
  if (in) {
    i.line = uint32_t(in->line);
    if (in->guard >= 0) {
      i.guard = registerAt(uint32_t(in->guard));
      i.guardXor = in->guardNegated ? ~0u : 0;
    }
  }
  code->insts.push_back(i);
  code->sources.push_back({in ? uint32_t(in->sourceFile) : 0, in ? uint32_t(in->sourceLine) : 0});
  return code->insts.back();
}

std::unique_ptr<Code> Decoder::run() {
  code = std::make_unique<Code>();
  code->name = entry.name;
  std::copy(entry.reqntid, entry.reqntid + 3, code->reqntid);
  std::copy(entry.maxntid, entry.maxntid + 3, code->maxntid);
  std::copy(entry.cluster, entry.cluster + 3, code->cluster);
  code->maxnreg = entry.maxnreg;
  code->minnctapersm = entry.minnctapersm;
  code->explicitCluster = entry.explicitCluster;
  next = 64;  // offset 0: the true predicate
  sink = allocate(16);
  sharedNext = kSharedReserved;
  Frame f;
  f.function = &entry;
  f.isEntry = true;
  f.registers.assign(entry.registers.size(), ~0u);
  f.variables.assign(entry.variables.size(), 0);
  f.placed.assign(entry.variables.size(), 0);
  for (uint32_t p : entry.params) {
    if (p >= entry.variables.size())
      fail("a kernel parameter must be .param");
    const ptx::Variable &v = entry.variables[p];
    uint32_t align = uint32_t(std::max<uint64_t>(1, v.align));
    code->paramBytes = (code->paramBytes + align - 1) / align * align;
    f.variables[p] = code->paramBytes;
    f.placed[p] = 1;
    code->params.push_back({code->paramBytes, uint32_t(v.bytes), align});
    code->paramBytes += uint32_t(v.bytes);
    if (code->paramBytes > 32764)
      fail("kernel parameters exceed 32764 bytes");
  }
  labels.push_back(-1);
  f.labelBase = 1;
  labels.resize(1 + entry.labels.size(), -1);
  callStack.push_back(&entry);
  body(f);
  in = nullptr;
  labels[0] = int64_t(code->insts.size());
  emit(runExit);
  finish();
  return std::move(code);
}

void Decoder::body(Frame &f) {
  Frame *outer = frame;
  frame = &f;
  std::vector<std::vector<uint32_t>> at(f.function->body.size() + 1);
  for (uint32_t l = 0; l < f.function->labels.size(); ++l)
    at[size_t(f.function->labels[l])].push_back(l);
  for (size_t i = 0; i <= f.function->body.size(); ++i) {
    for (uint32_t l : at[i])
      labels[f.labelBase + l] = int64_t(code->insts.size()), tmemLoads.clear();
    if (i == f.function->body.size())
      break;
    in = &f.function->body[i];
    instruction();
  }
  frame = outer;
}

void Decoder::instruction() {
  mods.reset(in->modifiers);
  std::string_view o = in->opcode;
  if (!tmemLoads.empty() && o == "mov")
    copyLoaded();
  else if (!tmemLoads.empty() && o != "tcgen05")
    for (const Operand &operand : in->operands)
      checkLoaded(operand);
  if ((!wgmmaOpen.empty() || !wgmmaGroups.empty()) && !code->serialWgmma && o != "wgmma")
    for (const Operand &operand : in->operands)
      checkInFlight(operand);
  if (hasWgmma && o != "wgmma")
    for (const Operand &operand : in->operands)
      noteUse(operand);
  if (o == "bra")
    branch();
  else if (o == "brx")
    branchIndexed();
  else if (o == "call") {
    call();
    return;
  } else if (o == "ret" || o == "exit") {
    mods.take(".uni");
    count(0, 0);
    if (o == "exit" || frame->isEntry)
      emit(runExit);
    else
      emit(runBranch).target = frame->endLabel;
  } else {
    const OpcodeTable &table = OpcodeTable::get();
    auto it = table.functions.find(o);
    if (it == table.functions.end()) {
      static const std::unordered_map<std::string_view, const char *> absent = {
          {"multimem", "it needs a multicast object of several devices, which this driver does not make"},
          {"tex", "textures are not emulated; use ld.global"}, {"tld4", "textures are not emulated; use ld.global"},
          {"txq", "textures are not emulated"}, {"istypep", "textures and surfaces are not emulated"},
          {"suld", "surfaces are not emulated; use ld.global"}, {"sust", "surfaces are not emulated; use st.global"},
          {"sured", "surfaces are not emulated; use red.global"}, {"suq", "surfaces are not emulated"}};
      auto known = absent.find(o);
      if (known != absent.end())
        fail("'" + std::string(o) + "' is not supported: " + known->second);
      std::vector<std::string_view> all = table.names;
      all.insert(all.end(), {"bra", "brx", "call", "ret", "exit"});
      std::string near = ptx::nearest(o, all);
      fail("unknown instruction '" + std::string(o) + "'" + (near.empty() ? "" : "; the nearest known one is '" + near + "'"));
    }
    it->second(*this);
  }
  std::string_view left = mods.leftover();
  if (!left.empty()) {
    std::string near = ptx::nearest(left, mods.asked());
    fail("unknown modifier '" + std::string(left) + "' on '" + std::string(o) + "'" +
         (near.empty() ? "" : "; the nearest known one is '" + near + "'"));
  }
}

void Decoder::checkLoaded(const Operand &o) {
  for (const Operand &p : o.parts)
    checkLoaded(p);
  if (o.kind == Operand::Register && !code->earlyTmemUseLine && std::find(tmemLoads.begin(), tmemLoads.end(), frame->registers[o.reg]) != tmemLoads.end())
    code->earlyTmemUseLine = uint32_t(in->line);
}

/// A mov only names the result: the copy is one, too.
void Decoder::copyLoaded() {
  auto loaded = [&](auto &self, const Operand &o) -> bool {
    return std::any_of(o.parts.begin(), o.parts.end(), [&](const Operand &p) { return self(self, p); }) ||
           (o.kind == Operand::Register && std::find(tmemLoads.begin(), tmemLoads.end(), frame->registers[o.reg]) != tmemLoads.end());
  };
  auto copy = [&](auto &self, const Operand &o) -> void {
    for (const Operand &p : o.parts)
      self(self, p);
    if (o.kind == Operand::Register && widthOf(o))
      tmemLoads.push_back(registerAt(o.reg));
  };
  if (in->operands.size() == 2 && loaded(loaded, in->operands[1]))
    copy(copy, in->operands[0]);
}

void Decoder::checkInFlight(const Operand &o) {
  for (const Operand &p : o.parts)
    checkInFlight(p);
  if (o.kind != Operand::Register)
    return;
  uint32_t at = frame->registers[o.reg];
  auto holds = [&](const std::vector<uint32_t> &v) { return std::find(v.begin(), v.end(), at) != v.end(); };
  if (at == ~0u || code->serialWgmma || !(holds(wgmmaOpen) || std::any_of(wgmmaGroups.begin(), wgmmaGroups.end(), holds)))
    return;
  code->serialWgmma = true;
  code->serialWgmmaLine = uint32_t(in->line);
}

void Decoder::noteUse(const Operand &o) {
  for (const Operand &p : o.parts)
    noteUse(p);
  if (o.kind == Operand::Register && widthOf(o))
    wgmmaFences.used(code->insts.size(), registerAt(o.reg));
}

void Decoder::branch() {
  mods.take(".uni");
  count(1, 1);
  if (op(0).kind != Operand::Label)
    fail("branch to '" + std::string(op(0).text) + "', which is no label of this function");
  emit(runBranch).target = frame->labelBase + op(0).reg;
}

void Decoder::branchIndexed() {
  if (!mods.take(".idx"))
    fail("'brx' needs .idx");
  mods.take(".uni");
  count(2, 2);
  auto it = frame->function->branchTargets.find(op(1).text);
  if (it == frame->function->branchTargets.end() || it->second.empty())
    fail("'" + std::string(op(1).text) + "' is no .branchtargets list");
  uint32_t index = src(op(0), Type::U32);
  BranchTable *t = extra<BranchTable>();
  for (uint32_t l : it->second)
    t->targets.push_back(frame->labelBase + l);
  Inst &i = emit(runBranchIndexed);
  i.r[0] = index;
  i.extra = t;
}

Step runPrintf(Warp &, const Inst &);
Step runAssertFail(Warp &, const Inst &);

/// Calls are inlined: the callee's parameters share storage with the caller's, its registers are fresh.
void Decoder::call() {
  mods.take(".uni");
  std::string_view left = mods.leftover();
  if (!left.empty())
    fail("unknown modifier '" + std::string(left) + "' on 'call'");
  size_t at = 0;
  const Operand *results = nullptr, *arguments = nullptr;
  if (op(0).kind == Operand::List)
    results = &op(at++);
  const Operand &name = op(at++);
  if (at < operands() && op(at).kind == Operand::List)
    arguments = &op(at++);
  if (name.kind == Operand::Register)
    fail("indirect calls are not supported");
  auto it = module.functionIndex.find(std::string(name.text));
  static const Operand none;
  const ptx::Instruction *site = in;
  if (it == module.functionIndex.end())
    fail("call of '" + std::string(name.text) + "', which is not declared");
  const ptx::Function &callee = module.functions[it->second];
  size_t nArgs = arguments ? arguments->parts.size() : 0, nResults = results ? results->parts.size() : 0;
  if (callee.external) {
    if (callee.name == "vprintf" && nArgs == 2) {
      uint32_t arg[2];
      for (int k = 0; k < 2; ++k) {
        const Operand &a = arguments->parts[size_t(k)];
        bool isParam = a.kind == Operand::Symbol;
        Space space;
        bool entryParam;
        arg[k] = isParam ? uint32_t(variableAddress(a, space, entryParam)) : 0;
        if (!isParam)
          fail("vprintf takes two .param arguments");
      }
      Inst &i = emit(runPrintf);
      i.r[0] = arg[0];
      i.r[1] = arg[1];
      return;
    }
    if (callee.name == "__assertfail") {
      emit(runAssertFail);
      return;
    }
    fail("call of external function '" + callee.name + "', which the emulator does not provide (vprintf and __assertfail are)");
  }
  if (callee.entry)
    fail("call of a kernel");
  if (std::find(callStack.begin(), callStack.end(), &callee) != callStack.end())
    fail("'" + callee.name + "' calls itself: recursion is not supported");
  if (callStack.size() > 64)
    fail("calls are nested more than 64 deep");
  if (nArgs != callee.params.size() || nResults != callee.results.size())
    fail("call of '" + callee.name + "' with " + std::to_string(nArgs) + " arguments and " + std::to_string(nResults) +
         " results, it takes " + std::to_string(callee.params.size()) + " and " + std::to_string(callee.results.size()));
  Frame f;
  f.function = &callee;
  f.registers.assign(callee.registers.size(), ~0u);
  f.variables.assign(callee.variables.size(), 0);
  f.placed.assign(callee.variables.size(), 0);
  for (size_t k = 0; k < nArgs; ++k)
    bindParameter(f, callee.params[k], arguments->parts[k], false);
  for (size_t k = 0; k < nResults; ++k)
    bindParameter(f, callee.results[k], results->parts[k], true);
  f.endLabel = uint32_t(labels.size());
  labels.push_back(-1);
  f.labelBase = uint32_t(labels.size());
  labels.resize(labels.size() + callee.labels.size(), -1);
  uint32_t skip = 0;
  if (site->guard >= 0) {
    // A guarded call: the threads without the guard branch around the body.
    skip = f.endLabel;
    Inst &i = emit(runBranch);
    i.guardXor = ~i.guardXor;
    i.target = skip;
  }
  callStack.push_back(&callee);
  body(f);
  callStack.pop_back();
  in = site;
  labels[f.endLabel] = int64_t(code->insts.size());
}

void Decoder::finish() {
  code->registerBytes = next;
  code->constantsBegin = 0;
  code->staticShared = sharedNext - kSharedReserved;
  code->localBytes = ((localNext + 15) & ~15u) + code->usesStack;
  code->ptxRegisters = uint32_t(entry.registers.size());
  // Labels to instruction indices.
  for (Inst &i : code->insts) {
    auto resolve = [&](uint32_t label) {
      if (labels[label] < 0)
        throw ptx::LoadError(int(i.line), "branch to a label that is not in the function", module.lineText(int(i.line)));
      return uint32_t(labels[label]);
    };
    if (i.run == runBranch)
      i.target = resolve(i.target);
    else if (i.run == runBranchIndexed)
      for (uint32_t &t : const_cast<BranchTable *>(static_cast<const BranchTable *>(i.extra))->targets)
        t = resolve(t);
  }
  code->unfencedWgmmaLine = wgmmaFences.firstUnfenced(*code);
  placeJoins(*code);
}

} // namespace fovea::emulator

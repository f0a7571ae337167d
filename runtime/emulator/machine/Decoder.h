// runtime/emulator/machine/Decoder.h - from the PTX module to decoded instructions.
#pragma once
#include "runtime/emulator/machine/Code.h"
#include "runtime/emulator/machine/WgmmaFences.h"
#include "runtime/emulator/ptx/Error.h"
#include "runtime/emulator/ptx/Module.h"
#include <deque>
#include <functional>
#include <initializer_list>
#include <map>
#include <tuple>
#include <unordered_map>

namespace fovea::emulator {

using ptx::Operand;
using ptx::Space;
using ptx::Type;

/// Where a module's global and constant variables lie; made by the loader before kernels are decoded.
struct ModuleLayout {
  std::vector<uint64_t> globals;  ///< per Module::variables: device address (Global, Const), unused for Shared
  int smArch = 100;
};

/// The modifiers of one instruction. Decode functions take what they know; what is left over is an error.
class Modifiers {
public:
  void reset(const std::vector<std::string_view> &from);
  bool take(std::string_view m);
  /// Index of the one that is present, or -1.
  int oneOf(std::initializer_list<std::string_view> choices);
  /// The next type modifier in order, None when there is none.
  Type type();
  /// The first modifier not taken that satisfies `is`; "" when none.
  std::string_view takeIf(const std::function<bool(std::string_view)> &is);
  std::string_view leftover() const;
  const std::vector<std::string_view> &asked() const { return candidates; }

private:
  std::vector<std::string_view> list, candidates;
  std::vector<bool> used;
};

/// [base + offset] of a memory operand: a register (32 or 64 bits wide) and an immediate.
struct AddressOperand {
  uint32_t base = 0;
  bool wide = true;
  int64_t offset = 0;
  bool entryParam = false;  ///< a kernel parameter, named directly
  bool localParam = false;  ///< a `.param` variable inside a function: thread-local memory
};

class Decoder {
public:
  Decoder(const ptx::Module &module, const ptx::Function &entry, const ModuleLayout &layout);
  /// Throws ptx::LoadError.
  std::unique_ptr<Code> run();

  // What decode functions use.
  const ptx::Instruction *in = nullptr;
  Modifiers mods;
  int smArch() const { return layout.smArch; }
  [[noreturn]] void fail(const std::string &message) const;
  void count(size_t least, size_t most) const;  ///< number of operands
  size_t operands() const { return in->operands.size(); }
  const Operand &op(size_t i) const;
  Type needType(const char *what);

  /// Register operands of `bytes` (predicates: pred()). `widthOf` tells the register's own width.
  uint32_t dst(const Operand &o, int bytes);
  uint32_t src(const Operand &o, Type t);
  uint32_t dstPred(const Operand &o);
  uint32_t srcPred(const Operand &o);
  int widthOf(const Operand &o) const;          ///< bytes; 0 for immediates and others
  uint32_t anyRegister(const Operand &o, int &bytes);
  uint32_t constant(uint64_t bits, int bytes, bool sharedBase = false);
  /// The value of a constant that constant() or address() made.
  uint64_t constantBits(uint32_t offset) const;
  uint32_t temporary(int bytes);
  uint32_t temporaryPred();
  /// parts[0] of an address operand.
  AddressOperand address(const Operand &o);
  AddressOperand addressPart(const Operand &part);
  /// Integer immediate, required.
  int64_t immediate(const Operand &o, const char *what) const;
  bool isImmediate(const Operand &o) const { return o.kind == Operand::Integer; }

  Inst &emit(Handler h);
  template <class E> E *extra() {
    auto e = std::make_unique<E>();
    E *p = e.get();
    code->extras.push_back(std::move(e));
    return p;
  }
  Code &output() { return *code; }
  /// Registers of a tcgen05.ld, and copies of them, until its wait::ld (in the text, up to the next label).
  void tmemLoaded(const std::vector<uint32_t> &registers) { tmemLoads.insert(tmemLoads.end(), registers.begin(), registers.end()); }
  void tmemWaited() { tmemLoads.clear(); }
  // wgmma accumulators in flight, in the order of the text: touching one serialises the kernel's wgmmas.
  void wgmmaIssued(const std::vector<uint32_t> &registers) { wgmmaOpen.insert(wgmmaOpen.end(), registers.begin(), registers.end()); }
  /// wgmma.fence: orders the registers' other uses before it with the wgmmas behind it.
  void wgmmaFenced() { wgmmaFences.fenced(code->insts.size()); }
  /// This wgmma has these registers as its accumulators or as A: others must not have touched them since the fence.
  void wgmmaUses(const std::vector<uint32_t> &registers) {
    for (uint32_t r : registers)
      wgmmaFences.product(code->insts.size(), r, uint32_t(in->line));
  }
  void wgmmaCommitted() { wgmmaGroups.push_back(std::move(wgmmaOpen)), wgmmaOpen.clear(); }
  void wgmmaWaited(uint64_t n) {
    while (wgmmaGroups.size() > n)
      wgmmaGroups.pop_front();
  }
  uint32_t sinkRegister() const { return sink; }
  static constexpr uint32_t kTrue = 0;  ///< register-file offset of the predicate that always holds

private:
  struct Frame {
    const ptx::Function *function = nullptr;
    std::vector<uint32_t> registers;   ///< offset per PTX register, ~0 not yet used
    std::vector<uint64_t> variables;   ///< shared: window offset; local/param: thread-local offset
    std::vector<uint8_t> placed;
    uint32_t labelBase = 0, endLabel = 0;
    bool isEntry = false;
  };
  const ptx::Module &module;
  const ptx::Function &entry;
  const ModuleLayout &layout;
  std::unique_ptr<Code> code;
  Frame *frame = nullptr;
  std::vector<const ptx::Function *> callStack;
  std::vector<int64_t> labels;  ///< instruction index per label
  uint32_t next = 0, sink = 0;
  uint32_t sharedNext = 0, localNext = 0;
  std::map<std::tuple<uint64_t, int, bool>, uint32_t> constantPool;
  std::map<std::string, uint32_t, std::less<>> specialPool;
  std::unordered_map<uint32_t, uint64_t> sharedGlobals;  ///< module-level shared variables -> window offset
  std::map<const ptx::Variable *, uint64_t> innerGlobals;

  uint32_t allocate(int bytes);
  uint32_t registerAt(uint32_t reg);
  uint64_t variableAddress(const Operand &o, Space &space, bool &isEntryParam);
  uint32_t symbolAddress(const Operand &o, int bytes);
  uint32_t special(const Operand &o, int bytes);
  std::vector<uint32_t> wgmmaOpen, tmemLoads;
  std::deque<std::vector<uint32_t>> wgmmaGroups;
  bool hasWgmma = false;
  WgmmaFences wgmmaFences;
  void noteUse(const Operand &o);
  void checkInFlight(const Operand &o), checkLoaded(const Operand &o), copyLoaded();
  void body(Frame &f);
  void instruction();
  void branch();
  void branchIndexed();
  void call();
  void bindParameter(Frame &callee, uint32_t formal, const Operand &actual, bool result);
  void finish();
  friend struct ReconvergenceBuilder;
};

/// Decodes one instruction that `d.in` names: emits Insts or fails.
using DecodeFn = void (*)(Decoder &d);
struct OpcodeTable {
  std::unordered_map<std::string_view, DecodeFn> functions;
  std::vector<std::string_view> names;
  void add(std::initializer_list<std::string_view> opcodes, DecodeFn fn) {
    for (std::string_view o : opcodes)
      if (functions.emplace(o, fn).second)
        names.push_back(o);
  }
  static const OpcodeTable &get();
};

// One per family file.
void addInteger(OpcodeTable &), addFloat(OpcodeTable &), addConvert(OpcodeTable &), addMove(OpcodeTable &),
    addMemory(OpcodeTable &), addAtomic(OpcodeTable &), addControl(OpcodeTable &), addBarrier(OpcodeTable &),
    addMbarrier(OpcodeTable &), addWarpOps(OpcodeTable &), addAsyncCopy(OpcodeTable &), addTensorCopy(OpcodeTable &),
    addMatrix(OpcodeTable &), addTcgen05(OpcodeTable &), addMisc(OpcodeTable &);

// Control-flow pseudo instructions, Control.cpp.
Step runBranch(Warp &, const Inst &), runBranchIndexed(Warp &, const Inst &), runJoin(Warp &, const Inst &), runExit(Warp &, const Inst &);
struct BranchTable : Extra { std::vector<uint32_t> targets; };

/// Inserts reconvergence points (immediate post-dominators of divergent branches) and fixes branch targets.
void placeJoins(Code &code);

/// %laneid and friends that do not change while a warp runs.
enum class SpecialRegister : uint8_t {
  TidX, TidY, TidZ, NtidX, NtidY, NtidZ, CtaidX, CtaidY, CtaidZ, NctaidX, NctaidY, NctaidZ, LaneId, WarpId, NwarpId,
  SmId, NsmId, GridId, ClusteridX, ClusteridY, ClusteridZ, NclusteridX, NclusteridY, NclusteridZ, ClusterCtaidX,
  ClusterCtaidY, ClusterCtaidZ, ClusterNctaidX, ClusterNctaidY, ClusterNctaidZ, ClusterCtarank, ClusterNctarank,
  IsExplicitCluster, LaneMaskEq, LaneMaskLe, LaneMaskLt, LaneMaskGe, LaneMaskGt, TotalSmem, DynamicSmem, AggrSmem, Env0,
  ReservedSmemBegin, ReservedSmemEnd, ReservedSmemCap
};
Step readClock(Warp &, const Inst &);

} // namespace fovea::emulator

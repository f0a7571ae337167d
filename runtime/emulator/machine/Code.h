// runtime/emulator/machine/Code.h - decoded instructions: what the machine runs.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace fovea::emulator {

struct Warp;
struct Inst;

/// What a handler leaves the warp with. Jump: the handler moved the group itself. Park: the group waits, the same
/// instruction runs again when it is woken. Yield: done, but let others run.
enum class Step : uint8_t { Next, Jump, Park, Yield };
using Handler = Step (*)(Warp &, const Inst &);

/// One decoded instruction; `r` are byte offsets into the warp's register file (constants live there too, so that a
/// handler never asks what an operand is).
struct Inst {
  Handler run = nullptr;
  uint32_t r[6] = {0, 0, 0, 0, 0, 0};
  uint32_t guard = 0;      ///< offset of the predicate mask
  uint32_t guardXor = 0;   ///< ~0 when negated
  uint64_t imm = 0;
  const void *extra = nullptr;
  uint32_t line = 0;
  uint32_t target = 0;     ///< branches: instruction index; joins: unused
};

/// Base of what `Inst::extra` points to; owned by Code.
struct Extra {
  virtual ~Extra() = default;
};

/// Where a decoded register came from; for traces and uninitialised-read reports.
struct SourceLine {
  uint32_t file, line;
};

/// A kernel, decoded and flattened (device functions are inlined).
struct Code {
  std::string name;
  std::vector<Inst> insts;
  std::vector<SourceLine> sources;             ///< per instruction
  std::vector<std::unique_ptr<Extra>> extras;
  uint32_t registerBytes = 0;                  ///< register file of one warp
  uint32_t constantsBegin = 0;                 ///< registers from here on are constants
  struct Constant { uint32_t offset; uint32_t bytes; uint64_t low, high; enum Add : uint8_t { Plain, SharedBase } add; };
  std::vector<Constant> constants;
  struct Special { uint32_t offset; uint8_t which, bytes; };
  std::vector<Special> specials;               ///< which: SpecialRegister in Decoder.h
  uint32_t staticShared = 0;                   ///< bytes of static shared memory, from the window offset kSharedReserved
  uint32_t sharedAlign = 16;
  uint32_t localBytes = 0;                     ///< per thread
  uint32_t paramBytes = 0;
  struct Param { uint32_t offset, bytes, align; };
  std::vector<Param> params;
  uint32_t reqntid[3] = {0, 0, 0}, maxntid[3] = {0, 0, 0}, cluster[3] = {0, 0, 0};
  uint32_t maxnreg = 0, minnctapersm = 0;
  bool explicitCluster = false;
  bool usesTmem = false;
  uint32_t usesStack = 0;                      ///< bytes of `localBytes` that alloca takes from
  /// Accumulators are touched while their wgmma is in flight: every wgmma waits for its result, as ptxas makes it do.
  bool serialWgmma = false;
  uint32_t earlyTmemUseLine = 0;               ///< a tcgen05.ld result used before its wait::ld, 0 none
  uint32_t serialWgmmaLine = 0;                ///< the first such touch
  uint32_t unfencedWgmmaLine = 0;              ///< a wgmma whose registers others touched since the last wgmma.fence, 0 none
  uint32_t ptxRegisters = 0;
};

/// The first bytes of every CTA's shared window belong to the system, as on sm_90 and later.
constexpr uint32_t kSharedReserved = 1024;

} // namespace fovea::emulator

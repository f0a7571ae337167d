// runtime/abi/Target.h - one row of facts per chip, shared by the compiler and the runtime.
//
// Code asks for a feature or a limit, never compares chip numbers. Sources: CUDA C++ Programming Guide, "Compute
// Capabilities"; PTX ISA, "Tensor Memory"; NVIDIA H200 and B200 data sheets for the rates.
#ifndef FOVEA_RUNTIME_ABI_TARGET_H
#define FOVEA_RUNTIME_ABI_TARGET_H

#include <array>
#include <string>
#include <string_view>

namespace fovea {

struct Target {
  std::string_view name;           ///< `.target` of the PTX: "sm_90a", "sm_100a"
  std::string_view example;        ///< a product that has it
  int computeMajor, computeMinor;  ///< an architecture-specific target runs on exactly this capability
  // Features.
  bool wgmma;                      ///< wgmma.mma_async, accumulators in registers
  bool tcgen05;                    ///< tcgen05.*, accumulators in tensor memory
  // Limits.
  int sms;                         ///< multiprocessors of the example product
  int smemPerCta;                  ///< bytes of dynamic shared memory a CTA may opt into
  int smemPerSm;                   ///< bytes
  int smemReservedPerCta;          ///< bytes the system keeps per resident CTA
  int registersPerSm;              ///< 32-bit registers
  int threadsPerSm;
  int ctasPerSm;
  int tmemColumns;                 ///< per SM, of 128 lanes x 32 bit; 0 without tensor memory
  int maxClusterPortable;          ///< CTAs
  // Rates of the example product.
  int clockMHz;                    ///< boost clock
  double hbmBytesPerSecond;
};

/// Every target Fovea knows, newest first.
const std::array<Target, 2> &allTargets();

/// The target called `name`, or null.
const Target *findTarget(std::string_view name);

/// The target whose kernels run on this compute capability, or null when there is none.
const Target *targetForCapability(int major, int minor);

/// "sm_100a, sm_90a", for messages.
std::string targetNames();

} // namespace fovea

#endif // FOVEA_RUNTIME_ABI_TARGET_H

// runtime/core/Workload.h - device tensors for a kernel that is only to be timed: real shapes, random values.
#ifndef FOVEA_RUNTIME_CORE_WORKLOAD_H
#define FOVEA_RUNTIME_CORE_WORKLOAD_H

#include "runtime/core/Module.h"

namespace fovea {

/// What `--lengths` says: A:B, from which each length is drawn, or the lengths themselves, "140x500,65536,140x10500"
/// (length, times how many).
struct Lengths {
  int64_t shortest = 1, longest = 256;
  std::vector<int64_t> listed; ///< empty for A:B
};
Expected<Lengths> parseLengths(const std::string &text);

/// Sequences of a jagged batch; lengths are drawn uniformly from `shortest` to `longest`, the same on every machine.
struct WorkloadSize {
  int64_t batch = 8;
  int64_t shortest = 1, longest = 256; ///< dense sequences have `longest` rows
  uint64_t seed = 0;
  bool wideOffsets = false;            ///< i64 offsets instead of i32
  bool tileList = true;                ///< pass the list of tiles (runtime/core/TileList.h) where a kernel takes one
  std::vector<int64_t> listed;         ///< unless empty, the lengths: `batch` of them, none drawn
};
std::vector<int64_t> drawLengths(const WorkloadSize &size);

/// Tensors of one operation, with their memory.
class Workload {
public:
  /// Makes every tensor that the kernels of `operation` name, optional outputs too, but no optional inputs
  /// other than a list of tiles. Floating inputs are random
  /// numbers of magnitude about 1, repeated with a period of 64 KiB; scales and integer tables are not supported and
  /// are refused by name. The dim symbols known are those of jagged tensors (their rows), "batch", "heads" (4) and
  /// "seq" (`longest`).
  static Expected<Workload> create(const Module &module, const std::string &operation, const WorkloadSize &size);

  std::vector<Tensor> tensors;
  int64_t bytes = 0; ///< of the tensors, each counted once: the least that the operation must read and write
  int64_t rows = 0;  ///< of all sequences

private:
  std::vector<Buffer> buffers;
};

} // namespace fovea

#endif // FOVEA_RUNTIME_CORE_WORKLOAD_H

// runtime/abi/Manifest.h - the one artefact besides PTX that crosses from the compiler to the runtime.
//
// The compiler fills these structs and writes `toJson`; the runtime reads them back with `parseManifest`. Version 3:
//
//   { "fovea_manifest": 3, "spec": "ads_block", "target": "sm_100a", "ptx": "ads_block.ptx", "ptx_sha256": "...",
//     "tensors": [ {"name": "q", "role": "input", "dtype": "bf16", "shape": ["total", 4, 128], "jagged": "offsets",
//                   "min_alignment": 16, "stride_multiple_bytes": 16, "optional": false}, ... ],
//     "kernels": [ {"name": "forward", "entry": "ads_block_forward", "variant": "64x128", "clocks": EXPR, "block": [128, 1, 1], "cluster": [1, 1, 1],
//                   "ctas_per_sm": 4, "dynamic_smem": 49184, "tmem_columns": 128, "values": [["$whole", EXPR], ...], "grid": [EXPR, EXPR, EXPR],
//                   "params": [ {"kind": "tensor_map", "tensor": "q", "dims": [EXPR...], "strides": [EXPR...],
//                                "box": [64, 16], "swizzle": "128B", "l2_promotion": "128B"},
//                               {"kind": "pointer", "tensor": "o"}, {"kind": "i32", "value": EXPR},
//                               {"kind": "scratch", "name": "counter", "bytes": EXPR, "zero": true} ] } ] }
//
// A last key, "sha256", seals what the compiler wrote: the digest of the document without it.
// EXPR is described in runtime/abi/Expr.h. Unknown keys are errors: a newer manifest must carry a newer version.
#ifndef FOVEA_RUNTIME_ABI_MANIFEST_H
#define FOVEA_RUNTIME_ABI_MANIFEST_H

#include "runtime/abi/DType.h"
#include "runtime/abi/Error.h"
#include "runtime/abi/Expr.h"

#include <array>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace fovea {

constexpr int kManifestVersion = 3;

/// A tensor the caller passes by name.
struct TensorSpec {
  enum class Role : uint8_t { Input, Output, Offsets };

  std::string name;
  Role role = Role::Input;
  std::vector<DType> dtypes;         ///< accepted element types; "i32|i64" in JSON
  /// A constant must match exactly; a lone name is a dim symbol, bound by the first tensor that has it and equal
  /// in all others; any other expression is compared with its value.
  std::vector<Expr> shape;
  int minAlignment = 1;              ///< bytes, of the first element's address; at least its size
  int strideMultipleBytes = 1;       ///< every stride but the innermost (which is 1 element) is a multiple of this
  bool optional = false;             ///< may be left out; a pointer parameter is then null
  std::string jagged;                ///< name of the offsets tensor that cuts dimension 0 into sequences, or empty
  std::string positions;             ///< name of the offsets tensor whose longest sequence dimension 0 covers, or empty
  bool strided = false;              ///< the innermost stride may be another than 1, too; left out of the JSON where it is false
};

/// One kernel parameter, in the order of the PTX entry.
struct ParamSpec {
  enum class Kind : uint8_t { TensorMap, Pointer, I32, I64, F32, Scratch };
  Kind kind = Kind::Pointer;

  std::string tensor;                ///< TensorMap, Pointer

  // TensorMap: arguments of cuTensorMapEncodeTiled, innermost dimension first. The element type is the tensor's.
  std::vector<Expr> dims;            ///< extents in elements, 1 to 5 of them
  std::vector<Expr> strides;         ///< bytes, of dimensions 1 and up
  std::vector<int> box;              ///< elements, one per dimension
  std::string swizzle = "none";      ///< none, 32B, 64B, 128B, 128B_atom32B, 128B_atom32B_flip8B, 128B_atom64B
  std::string l2Promotion = "none";  ///< none, 64B, 128B, 256B
  Expr offset = 0;                   ///< bytes added to the tensor's address (also for Pointer); may be negative

  Expr value;                        ///< I32, I64
  double number = 0;                 ///< F32

  // Scratch: device memory that the runtime provides, zero when it is allocated.
  std::string name;
  Expr bytes;
  bool zero = false;                 ///< cleared before every launch, on the launch's stream
};

/// One kernel. Kernels that share a `name` are one operation and run in manifest order on the same stream. Where an operation has
/// variants, a launch runs the kernels of one: of that with the fewest `clocks`.
struct KernelSpec {
  std::string name;                  ///< the operation: "forward", "backward"
  std::string entry;                 ///< `.entry` in the PTX
  std::string variant;               ///< one of several ways to run the operation ("64x128"); empty: there is one, and no key
  /// Of the first kernel of a variant: what the launch takes, modelled, in clocks of an SM. The others have no such key.
  std::optional<Expr> clocks;
  std::array<int, 3> block = {1, 1, 1};
  std::array<int, 3> cluster = {1, 1, 1};
  int ctasPerSm = 1;                 ///< how many CTAs per SM the schedule counts on
  int dynamicSmem = 0;               ///< bytes
  int tmemColumns = 0;               ///< allocated by one CTA
  /// Names for values that the grid and the parameters use; each may use those before it. A name begins with '$', so that it is
  /// no dim symbol. The key is left out where there are none.
  std::vector<std::pair<std::string, Expr>> values;
  std::array<Expr, 3> grid = {Expr(1), Expr(1), Expr(1)}; ///< a zero extent launches nothing
  std::vector<ParamSpec> params;
};

struct Manifest {
  std::string spec;                  ///< the attention's name
  std::string target;                ///< "sm_100a"
  std::string ptx;                   ///< file name, beside the manifest
  std::string ptxSha256;             ///< of the PTX text
  std::vector<TensorSpec> tensors;
  std::vector<KernelSpec> kernels;

  const TensorSpec *findTensor(std::string_view name) const;
};

/// The variants of an operation, each once, in the manifest's order; none where there is one way to run it.
std::vector<std::string> variantsOf(const Manifest &manifest, const std::string &operation);

/// Names of the tensors that the operation's kernels read, write, or take sizes from.
std::set<std::string> usedTensors(const Manifest &manifest, const std::string &operation);

/// Pretty-printed JSON with a final newline; deterministic.
std::string toJson(const Manifest &manifest);

/// Reads and validates a manifest. Errors name the JSON path, what was expected and what was found; an unknown
/// version, a syntax error (with its offset) and a reference to an undeclared tensor are refused here.
/// `origin` (a file name) starts every message.
Expected<Manifest> parseManifest(std::string_view json, const std::string &origin = "manifest");

/// Checks that `ptx` is the text that the manifest was written for.
Expected<void> checkPtx(const Manifest &manifest, std::string_view ptx);

} // namespace fovea

#endif // FOVEA_RUNTIME_ABI_MANIFEST_H

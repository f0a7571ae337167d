// runtime/emulator/machine/AluOps.h - the arithmetic handlers, which exist once per host instruction set.
#pragma once
#include "runtime/emulator/machine/Code.h"
#include "runtime/emulator/ptx/Types.h"

namespace fovea::emulator {

enum class IntOp : uint8_t {
  Add, Sub, MulLo, MulHi, MulWide, MadLo, MadHi, MadWide, Div, Rem, Min, Max, Abs, Neg, And, Or, Xor, Not, Cnot, Shl, Shr,
  Sad, AddSat, SubSat, MinRelu, MaxRelu, Mul24Lo, Mul24Hi, Mad24Lo, Popc, Clz, Brev, Bfe, Bfi, Bfind, BfindShift, Prmt, Lop3,
  ShfLWrap, ShfLClamp, ShfRWrap, ShfRClamp, Dp4a, Dp2aLo, Dp2aHi, AddPair, MinPair, MaxPair, Bmsk, BmskWrap, Szext, SzextWrap,
  MadHiSat
};

enum class FloatOp : uint8_t {
  Add, Sub, Mul, Fma, Div, DivApprox, Min, Max, MinNan, MaxNan, MinXorsign, MaxXorsign, MinNanXorsign, MaxNanXorsign, Abs, Neg, Sqrt, SqrtApprox, Rcp, RcpApprox, RsqrtApprox,
  Ex2, Lg2, Sin, Cos, Tanh, Copysign, FmaRelu, Min3, Max3, MinNan3, MaxNan3
};
enum FloatFlag : unsigned { Ftz = 1, Sat = 2 };

enum class Cmp : uint8_t { Eq, Ne, Lt, Le, Gt, Ge, Lo, Ls, Hi, Hs, Equ, Neu, Ltu, Leu, Gtu, Geu, Num, Nan };

/// cvt: everything a conversion says.
struct ConvertForm {
  ptx::Type to, from;
  enum Round : uint8_t { None, Rn, Rz, Rm, Rp, Rna, Rni, Rzi, Rmi, Rpi } round = None;
  bool ftz = false, sat = false, satfinite = false, relu = false;
  int sourceBytes = 4, targetBytes = 4;  ///< register widths, which may exceed the types'
};
struct ConvertExtra : Extra { ConvertForm form; };

// Each is null when the type does not have the operation. Operand order: r[0] destination, then sources.
// setp: r[0] destination predicate. selp: r[3] the predicate. Rounded float operations other than .rn: floatRounded.
#define FOVEA_LANE_FUNCTIONS                                                                                            \
  Handler integerHandler(IntOp op, ptx::Type t);                                                                        \
  Handler floatHandler(FloatOp op, ptx::Type t, unsigned flags);                                                        \
  Handler compareHandler(Cmp c, ptx::Type t, bool ftz);                                                                 \
  Handler selectHandler(int bytes);                                                                                     \
  Handler moveHandler(int bytes);                                                                                       \
  Handler convertHandler(const ConvertForm &f);
namespace lanes_base { FOVEA_LANE_FUNCTIONS }
namespace lanes_avx2 { FOVEA_LANE_FUNCTIONS }
namespace lanes_avx512 { FOVEA_LANE_FUNCTIONS }

inline bool hostHasAvx2() {
  static const bool yes = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return yes;
}
inline bool hostHasAvx512() {
  static const bool yes = hostHasAvx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                          __builtin_cpu_supports("avx512vl");
  return yes;
}
#define FOVEA_LANE_CALL(f) (hostHasAvx512() ? lanes_avx512::f : hostHasAvx2() ? lanes_avx2::f : lanes_base::f)

} // namespace fovea::emulator

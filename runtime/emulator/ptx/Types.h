// runtime/emulator/ptx/Types.h - PTX scalar types and state spaces.
#pragma once
#include <cstdint>
#include <string_view>

namespace fovea::ptx {

enum class Type : uint8_t {
  None, Pred, B8, B16, B32, B64, B128, U8, U16, U32, U64, S8, S16, S32, S64,
  F16, F16x2, BF16, BF16x2, F32, F64, F32x2, TF32, U16x2, S16x2,
  E4M3, E5M2, E4M3x2, E5M2x2, E2M3x2, E3M2x2, E2M1x2, UE8M0x2, E4M3x4, E5M2x4, E2M3x4, E3M2x4, E2M1x4,
  U8x4, S8x4, B1024, B6x16p32, B4x16p64, B4x16, E2M3, E3M2, E2M1, UE8M0, S4, U4, S2, U2, B1
};

enum class Space : uint8_t { None, Const, Global, Local, Param, Shared };

/// Bytes of a register that holds the type (sub-byte and packed types: the container).
inline int bytesOf(Type t) {
  switch (t) {
  case Type::B8: case Type::U8: case Type::S8: case Type::E4M3: case Type::E5M2: case Type::E2M1x2: return 1;
  case Type::B16: case Type::U16: case Type::S16: case Type::F16: case Type::BF16:
  case Type::E4M3x2: case Type::E5M2x2: case Type::E2M3x2: case Type::E3M2x2: case Type::UE8M0x2:
  case Type::E2M1x4: return 2;
  case Type::B64: case Type::U64: case Type::S64: case Type::F64: case Type::F32x2: return 8;
  case Type::B128: return 16;
  case Type::B1024: return 128;
  default: return 4;
  }
}
inline bool isSigned(Type t) { return t == Type::S8 || t == Type::S16 || t == Type::S32 || t == Type::S64; }
inline bool isFloat(Type t) { return t == Type::F16 || t == Type::BF16 || t == Type::F32 || t == Type::F64; }

/// The type a modifier such as `.f16x2` names, None if it names none.
Type typeNamed(std::string_view modifier);

} // namespace fovea::ptx

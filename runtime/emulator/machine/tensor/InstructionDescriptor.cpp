// runtime/emulator/machine/tensor/InstructionDescriptor.cpp - decode and check the instruction descriptor of tcgen05.mma
#include "runtime/emulator/machine/tensor/InstructionDescriptor.h"
#include "runtime/emulator/machine/tensor/Fault.h"
#include <cstdio>

namespace fovea::emulator {
namespace {

unsigned field(uint32_t bits, unsigned low, unsigned count) { return bits >> low & ((1u << count) - 1); }

const char *nameOf(MmaKind kind) {
  static const char *names[] = {"f16", "tf32", "f8f6f4", "i8", "mxf8f6f4", "mxf4", "mxf4nvf4"};
  return names[unsigned(kind)];
}

[[noreturn]] void refuse(MmaKind kind, uint32_t bits, const std::string &why) {
  char hex[16];
  std::snprintf(hex, sizeof hex, "0x%08x", bits);
  throw Fault(std::string("instruction descriptor ") + hex + " of kind::" + nameOf(kind) + ": " + why);
}

MmaElement elementOf(MmaKind kind, unsigned code, uint32_t bits, const char *operand) {
  auto bad = [&](const char *expected) {
    refuse(kind, bits, std::string(operand) + " type code " + std::to_string(code) + ", expected " + expected);
  };
  switch (kind) {
  case MmaKind::F16:
    if (code > 1)
      bad("0 (f16) or 1 (bf16)");
    return code ? MmaElement::BF16 : MmaElement::F16;
  case MmaKind::TF32:
    if (code != 2)
      bad("2 (tf32)");
    return MmaElement::TF32;
  case MmaKind::I8:
    if (code > 1)
      bad("0 (u8) or 1 (s8)");
    return code ? MmaElement::S8 : MmaElement::U8;
  case MmaKind::F8F6F4:
  case MmaKind::MXF8F6F4:
    switch (code) {
    case 0:
      return MmaElement::E4M3;
    case 1:
      return MmaElement::E5M2;
    case 3:
      return MmaElement::E2M3;
    case 4:
      return MmaElement::E3M2;
    case 5:
      return MmaElement::E2M1;
    }
    bad("0 (e4m3), 1 (e5m2), 3 (e2m3), 4 (e3m2) or 5 (e2m1)");
    break;
  case MmaKind::MXF4:
  case MmaKind::MXF4NVF4:
    if (code != 1)
      bad("1 (e2m1)");
    return MmaElement::E2M1;
  }
  return MmaElement::F16;
}

unsigned denseK(MmaKind kind) {
  switch (kind) {
  case MmaKind::TF32:
    return 8;
  case MmaKind::F16:
    return 16;
  case MmaKind::MXF4:
  case MmaKind::MXF4NVF4:
    return 64;
  default:
    return 32;
  }
}

void checkShape(const MmaForm &form, const InstructionDescriptor &d, uint32_t bits) {
  bool scaled = form.kind >= MmaKind::MXF8F6F4;
  bool mFits = form.ws     ? d.m == 32 || d.m == 64 || d.m == 128
               : form.pair ? (d.m == 128 && !(scaled && form.sparse)) || d.m == 256
               : scaled    ? d.m == 128
                           : d.m == 64 || d.m == 128;
  if (!mFits)
    refuse(form.kind, bits, "M = " + std::to_string(d.m) + " is not a size of this form");
  bool nFits = d.n >= 8 && d.n <= 256;
  if (form.ws)
    nFits = d.n == 64 || d.n == 128 || (d.n == 256 && !form.sparse);
  else if (form.kind == MmaKind::I8)
    nFits &= form.pair ? d.n % 32 == 0 : d.n % 16 == 0 || d.n == 8 || d.n == 24;
  else
    nFits &= d.n % (form.pair ? 16 : 8) == 0;
  if (elementBits(d.b) == 8 && d.bMajor == Major::MN)
    nFits &= d.n % (form.pair ? 32 : 16) == 0;
  if (!nFits)
    refuse(form.kind, bits, "N = " + std::to_string(d.n) + " is not a size of this form");
}

} // namespace

unsigned elementBits(MmaElement e) {
  switch (e) {
  case MmaElement::F16:
  case MmaElement::BF16:
    return 16;
  case MmaElement::TF32:
    return 32;
  case MmaElement::E2M3:
  case MmaElement::E3M2:
    return 6;
  case MmaElement::E2M1:
    return 4;
  default:
    return 8;
  }
}

unsigned scalesPerRow(MmaKind kind, unsigned blockSize) {
  switch (kind) {
  case MmaKind::MXF8F6F4:
    if (blockSize == 0 || blockSize == 32)
      return 1;
    break;
  case MmaKind::MXF4:
    if (blockSize == 0 || blockSize == 32)
      return 2;
    break;
  case MmaKind::MXF4NVF4:
    if (blockSize == 32)
      return 2;
    if (blockSize == 16)
      return 4;
    break;
  default:
    break;
  }
  throw Fault(std::string("kind::") + nameOf(kind) + " has no .block" + std::to_string(blockSize) +
              "; mxf8f6f4 and mxf4 take .block32 or none, mxf4nvf4 takes .block16 or .block32");
}

InstructionDescriptor decodeInstruction(const MmaForm &form, uint32_t bits) {
  InstructionDescriptor d;
  bool scaled = form.kind >= MmaKind::MXF8F6F4;
  bool fp4 = form.kind == MmaKind::MXF4 || form.kind == MmaKind::MXF4NVF4;
  auto reserved = [&](unsigned low, unsigned count) {
    if (field(bits, low, count))
      refuse(form.kind, bits, "reserved bit " + std::to_string(low) + (count > 1 ? " and following are" : " is") + " not 0");
  };
  if (field(bits, 2, 1) != unsigned(form.sparse))
    refuse(form.kind, bits, form.sparse ? "bit 2 (sparse) is 0 in a .sp instruction" : "bit 2 (sparse) is 1 in a dense instruction");
  d.sparse = form.sparse;
  d.k = denseK(form.kind) * (form.sparse ? 2 : 1);
  d.a = elementOf(form.kind, field(bits, 7, 3), bits, "A");
  d.b = elementOf(form.kind, field(bits, 10, fp4 ? 2 : 3), bits, "B");
  d.negateA = field(bits, 13, 1);
  d.negateB = field(bits, 14, 1);
  d.aMajor = field(bits, 15, 1) ? Major::MN : Major::K;
  d.bMajor = field(bits, 16, 1) ? Major::MN : Major::K;
  d.n = field(bits, 17, 6) << 3;
  reserved(6, 1);

  if (!scaled) {
    d.sparsitySelector = field(bits, 0, 2);
    if (!form.sparse && d.sparsitySelector)
      refuse(form.kind, bits, "a sparsity selector in a dense instruction");
    d.saturate = field(bits, 3, 1);
    if (d.saturate && form.kind != MmaKind::I8)
      refuse(form.kind, bits, "bit 3 (saturate) is for kind::i8 only");
    unsigned result = field(bits, 4, 2);
    bool fits = form.kind == MmaKind::I8     ? result == 2
                : form.kind == MmaKind::TF32 ? result == 1
                : form.kind == MmaKind::F16  ? result == 1 || (result == 0 && d.a == MmaElement::F16 && d.b == MmaElement::F16)
                                             : result <= 1;
    if (!fits)
      refuse(form.kind, bits, "D type code " + std::to_string(result) + " does not go with these inputs");
    d.d = MmaResult(result);
    if (form.kind == MmaKind::F16 && d.a != d.b)
      refuse(form.kind, bits, "A and B must both be f16 or both bf16");
    if (form.kind == MmaKind::I8 && (d.negateA || d.negateB))
      refuse(form.kind, bits, "integers cannot be negated");
    reserved(23, 1);
    reserved(29, 1);
    d.m = field(bits, 24, 5) << 4;
    unsigned shift = field(bits, 30, 2);
    if (shift && !form.ws)
      refuse(form.kind, bits, "bits 30-31 (maximum shift) are for .ws only");
    d.maxShift = shift ? 4u << shift : 0;
  } else {
    d.d = MmaResult::F32;
    reserved(0, 2);
    reserved(3, 1);
    d.sfbId = field(bits, 4, 2);
    reserved(24, 3);
    d.m = field(bits, 27, 2) << 7;
    d.sfaId = field(bits, 29, 2);
    d.scaleFormat = field(bits, 23, 1) ? Format::UE8M0 : Format::UE4M3;
    if (d.scaleFormat == Format::UE4M3 && !(form.kind == MmaKind::MXF4NVF4 && form.scalesPerRow == 4))
      refuse(form.kind, bits, "UE4M3 scales (bit 23 = 0) need kind::mxf4nvf4 with blocks of 16");
    if (fp4) {
      reserved(12, 1);
      if (field(bits, 31, 1))
        refuse(form.kind, bits, "bit 31 (K = 96) does not exist on sm_100a");
      bool ids = form.scalesPerRow == 2 ? !(d.sfaId & 1) && !(d.sfbId & 1) : !d.sfaId && !d.sfbId;
      if (!ids)
        refuse(form.kind, bits, "scale ids " + std::to_string(d.sfaId) + " and " + std::to_string(d.sfbId) +
                                    "; expected 0 or 2 for two scales a row, 0 for four");
    } else {
      reserved(31, 1);
    }
  }
  auto transposed = [&](MmaElement e, Major major, const char *operand) {
    if (major == Major::MN && elementBits(e) < 8)
      refuse(form.kind, bits, std::string(operand) + " is MN-major, which 4- and 6-bit types do not have");
  };
  transposed(d.a, d.aMajor, "A");
  transposed(d.b, d.bMajor, "B");
  checkShape(form, d, bits);
  return d;
}

} // namespace fovea::emulator

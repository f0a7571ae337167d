// runtime/emulator/machine/tensor/MmaLayout.cpp - where tcgen05.mma keeps its rows, columns and scales
#include "runtime/emulator/machine/tensor/MmaLayout.h"

namespace fovea::emulator {

MmaLayout layoutOf(const MmaForm &form, unsigned m) {
  if (form.ws)
    return m == 128 ? MmaLayout{128, 1, 0, false, false} : m == 64 ? MmaLayout{64, 2, 64, false, false} : MmaLayout{32, 4, 32, false, false};
  if (form.pair) {
    if (m == 256)
      return {128, 1, 0, false, false};
    return form.sparse ? MmaLayout{64, 1, 0, true, false} : MmaLayout{64, 2, 64, false, true};
  }
  return m == 64 ? MmaLayout{64, 1, 0, true, false} : MmaLayout{128, 1, 0, false, false};
}

MmaPlace placeOfD(const MmaForm &form, unsigned m, unsigned n, unsigned row, unsigned column) {
  MmaLayout layout = layoutOf(form, m);
  unsigned width = n / layout.runs, local = row % layout.rows;
  return {row / layout.rows, layout.laneOf(local) + column / width * layout.laneStep, column % width};
}

MmaAddresses addressesOf(const MmaForm &form, const MmaOperands &operands, const MmaLayout &layout) {
  MmaAddresses at{tmemLane(operands.d), tmemColumn(operands.d), 0, 0, 0, 0, tmemColumn(operands.sparseMeta)};
  if (at.dLane && !(layout.half && at.dLane == 16))
    throw Fault("tcgen05.mma: D starts at lane " + std::to_string(at.dLane) + ", expected " + (layout.half ? "0 or 16" : "0") +
                " in this data-path layout");
  if (form.aInTmem) {
    at.aLane = tmemLane(uint32_t(operands.a));
    at.aColumn = tmemColumn(uint32_t(operands.a));
    if (at.aLane != at.dLane)
      throw Fault("tcgen05.mma: A starts at lane " + std::to_string(at.aLane) + " and D at lane " + std::to_string(at.dLane) +
                  "; both must be the same");
  }
  if (form.sparse && tmemLane(operands.sparseMeta) != at.dLane)
    throw Fault("tcgen05.mma.sp: metadata starts at lane " + std::to_string(tmemLane(operands.sparseMeta)) + " and D at lane " +
                std::to_string(at.dLane) + "; both must be the same");
  if (form.scalesPerRow) {
    // Libraries keep a byte number in bits 31:30 of a scale address; the hardware takes it from the instruction descriptor.
    for (uint32_t address : {operands.sfa, operands.sfb})
      if (tmemLane(address) & 0x3FFF)
        throw Fault("tcgen05.mma: scale factors start at lane " + std::to_string(tmemLane(address) & 0x3FFF) + ", expected 0");
    at.sfaColumn = tmemColumn(operands.sfa);
    at.sfbColumn = tmemColumn(operands.sfb);
  }
  return at;
}

namespace {
Packing sharedPacking(const MmaForm &form, MmaElement element) {
  bool padded = form.kind == MmaKind::F8F6F4 || form.kind == MmaKind::MXF8F6F4;
  return padded && elementBits(element) < 8 ? Packing::Padded : Packing::Plain;
}
} // namespace

Packing tensorPacking(const MmaForm &form, MmaElement element) {
  return sharedPacking(form, element) == Packing::Padded ? Packing::Container : Packing::Plain;
}

SharedOperand sharedA(const MmaForm &form, const InstructionDescriptor &i, uint64_t descriptor, const MmaLayout &layout) {
  SharedOperand o{decodeTcgen05Descriptor(descriptor), i.a, sharedPacking(form, i.a), i.aMajor, layout.rows, storedK(i)};
  checkOperand(o.descriptor, o.major, elementBits(i.a));
  return o;
}

SharedOperand sharedB(const MmaForm &form, const InstructionDescriptor &i, uint64_t descriptor) {
  SharedOperand o{decodeTcgen05Descriptor(descriptor), i.b, sharedPacking(form, i.b), i.bMajor, form.pair ? i.n / 2 : i.n, i.k};
  checkOperand(o.descriptor, o.major, elementBits(i.b));
  return o;
}

} // namespace fovea::emulator

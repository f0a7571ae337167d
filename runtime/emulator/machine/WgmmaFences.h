// runtime/emulator/machine/WgmmaFences.h - which wgmma lacks a wgmma.fence, on some path of a decoded kernel.
#pragma once
#include "runtime/emulator/machine/Code.h"

namespace fovea::emulator {

/// What a kernel does to registers, in the order of its decoded instructions; `at`: the first that stands for it.
class WgmmaFences {
public:
  void used(size_t at, uint32_t reg) { events.push_back({at, reg, 0, Event::Use}); }  ///< by an instruction other than wgmma
  void fenced(size_t at) { events.push_back({at, 0, 0, Event::Fence}); }
  /// A wgmma has this register as its accumulator or as A.
  void product(size_t at, uint32_t reg, uint32_t line) { events.push_back({at, reg, line, Event::Product}); }

  /// wgmma.fence is owed between another use of a register and a wgmma that has it, and before the first wgmma (PTX ISA,
  /// wgmma.fence). The line of the first wgmma to which a path leads from such a use, or from the kernel's beginning, without one;
  /// 0: there is none. Branches are resolved to instructions.
  uint32_t firstUnfenced(const Code &code) const;

private:
  struct Event {
    size_t at;
    uint32_t reg, line;
    enum Kind : uint8_t { Use, Fence, Product } kind;
  };
  std::vector<Event> events;
};

} // namespace fovea::emulator

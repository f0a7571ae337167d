// passes/Lower/Rotary.h - rotary tables of a network: their channels, the prologue that turns inputs, and who reads them.
#pragma once

#include "passes/Lower/NetworkBuilder.h"
#include "passes/Lower/Problem.h"

namespace fovea {

/// One table that a kernel loads: a tile of its rows for each work item, whatever the head.
struct RotaryTable {
  const Rotation *rotation;          ///< of the first tensor behind it
  std::string tensor, channel;       ///< symbols in the kernel: "rotary", "Rotary"; a second one "rotary2", "Rotary2"
  std::vector<std::string> stations; ///< "load", then the roles that read it, in program order
};

/// What rotary embeddings ask of one kernel. `turned`: the inputs that the role "rotate" turns after their load;
/// `unrotated`: roles (epilogues) that take the rotation out of a gradient, in program order.
class RotaryPlan {
public:
  struct Operand {
    std::string channel;
    const Rotation *rotation;
  };
  struct Epilogue {
    std::string role;
    const Rotation *rotation;
  };
  RotaryPlan(const std::vector<Operand> &operands, const std::vector<Epilogue> &epilogues);

  bool hasPrologue() const { return !turned.empty(); }
  /// Stations of an input's channel, with "rotate" behind "load" if the input is turned.
  std::vector<std::string> stations(const std::string &channel, std::vector<std::string> plain) const;

  /// Declares tensors and channels of the tables, and notes what is turned where.
  void declare(NetworkBuilder &n, int64_t rows) const;
  /// Inside the role "load".
  void emitLoads(NetworkBuilder &n, Item item, mlir::Location loc) const;
  /// The role "rotate", if there is something to turn.
  void emitPrologue(NetworkBuilder &n, mlir::Location loc) const;
  /// Inside an epilogue: takes the table of `rotation` (null: none) for `role`. The caller passes it on.
  mlir::Value take(NetworkBuilder &n, const Rotation *rotation, const std::string &role) const;

  /// Shared memory of one tile of `rows` rows of every table.
  int64_t bytes(int64_t rows) const;

  std::vector<RotaryTable> tables;

private:
  RotaryTable &table(const Rotation *rotation);
  const RotaryTable &table(const Rotation *rotation) const;

  std::vector<Operand> turned;
  std::vector<Epilogue> unrotated;
};

/// The plans of the two kernels; they point into the problem. The gradients leave through the roles epilogue_dv,
/// epilogue_dq and epilogue_dk, in this order.
RotaryPlan forwardRotary(const Problem &problem);
RotaryPlan backwardRotary(const Problem &problem);

tile::Pairing pairingOf(const Rotation &rotation);

} // namespace fovea

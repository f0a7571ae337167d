// test/unit/passes/Kernels.h - kernels of any phase, made by the compiler in process.
#pragma once

#include "codegen/Compiler.h"
#include "dialect/Tile/Tile.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/raw_ostream.h"
#include <gtest/gtest.h>

namespace fovea::test {

struct Variant {
  std::string target = "sm_100a", roles = "fused", p;
  int64_t block = 64, dim = 64, tileRows = 64;
  bool backward = false; ///< the backward kernel instead of the forward one
  bool rotary = false;   ///< q, k and v are turned on load by one table, gradients leave packed
  std::string softmax;   ///< "exact" or "max_free": the items loop over key blocks; roles is "loop", block 0
  int64_t splits = 1;    ///< parts of a tile's keys, where items loop over key blocks
  bool epilogue = false; ///< o * tanh(gate) + residual
  int64_t staged = 0;    ///< keys of a block whose weights are handed on first, where items loop over key blocks
  std::string name() const {
    if (!softmax.empty())
      return target + "_loop_" + softmax + "_D" + std::to_string(dim) + "_M" + std::to_string(tileRows) + (splits > 1 ? "_splits" : "") + (staged ? "_staged" : "");
    return target + "_" + roles + (p.empty() ? "" : "_p" + p) + "_N" + std::to_string(block) + "_D" +
           std::to_string(dim) + "_M" + std::to_string(tileRows) + (backward ? "_backward" : "") + (rotary ? "_rotary" : "") + (epilogue ? "_epilogue" : "");
  }
};

/// Variants with a rotary embedding, whose tables and turned inputs make hops of their own.
inline std::vector<Variant> rotaryVariants() {
  std::vector<Variant> all;
  for (const char *target : {"sm_100a", "sm_90a"})
    for (int64_t block : {16, 64}) {
      all.push_back({target, "fused", "", block, 64, 64, false, true});
      all.push_back({target, "fused", "", block, 64, 64, true, true});
      all.push_back({target, "split", "", block, 64, 64, false, true});
    }
  return all;
}

/// Variants with an epilogue, whose tensors are loaded late and changed in place.
inline std::vector<Variant> epilogueVariants() {
  std::vector<Variant> all;
  for (const char *target : {"sm_100a", "sm_90a"})
    for (int64_t block : {16, 64})
      for (bool backward : {false, true}) {
        Variant v{target, "fused", "", block, 64, 64, backward};
        v.epilogue = true;
        all.push_back(v);
      }
  return all;
}

/// Every variant that both ends of the schedule space offer, D 64/128/256 and N 16/64/128, and the backward kernels.
inline std::vector<Variant> allVariants() {
  std::vector<Variant> all;
  for (const char *target : {"sm_100a", "sm_90a"})
    for (const char *roles : {"fused", "split"})
      for (int64_t dim : {64, 128, 256})
        for (int64_t block : {16, 64, 128})
          for (int64_t rows : {64, 128})
            for (const char *p : {"smem", "tmem"}) {
              bool blackwell = std::string(target) == "sm_100a";
              if (rows < block || (!blackwell && std::string(p) == "tmem"))
                continue;
              all.push_back({target, roles, blackwell ? p : "", block, dim, rows});
              // The backward has no P in TMEM, and without tcgen05 one block a tile.
              if (std::string(p) == "smem" &&
                  (blackwell || rows == std::max<int64_t>(block, 64)))
                all.push_back({target, roles, "", block, dim, rows, /*backward=*/true});
            }
  return all;
}

/// Forward kernels whose items loop over key blocks, of jagged sequences, so that tails are cleared.
inline std::vector<Variant> loopVariants() {
  std::vector<Variant> all;
  for (auto [target, softmax, dim, rows] :
       {std::tuple("sm_90a", "max_free", 128, 128), {"sm_90a", "exact", 128, 128}, {"sm_90a", "max_free", 256, 128},
        {"sm_100a", "exact", 64, 128}, {"sm_100a", "exact", 256, 128}, {"sm_100a", "max_free", 64, 256},
        {"sm_100a", "max_free", 128, 256}, {"sm_100a", "exact", 128, 256}})
    all.push_back({target, "loop", "", 0, dim, rows, false, false, softmax});
  for (auto [target, rows] : {std::pair("sm_90a", 128), {"sm_100a", 128}})
    all.push_back({target, "loop", "", 0, 64, rows, false, false, "max_free", 3});
  for (auto [softmax, dim, rows] : {std::tuple("max_free", 64, 256), {"exact", 128, 256}, {"exact", 256, 128}}) {
    Variant v{"sm_100a", "loop", "", 0, dim, rows, false, false, softmax};
    v.staged = 32;
    all.push_back(v);
  }
  return all;
}

class Kernels {
public:
  Kernels() {
    mlir::DialectRegistry registry;
    registerCompilerDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  Problem problem(const Variant &v) {
    Problem p;
    p.name = "kernel";
    p.element = mlir::BFloat16Type::get(&context);
    p.heads = 4, p.headDim = p.valueDim = v.dim, p.block = v.block, p.scale = 0.125, p.lse = true;
    p.backward = v.backward;
    if (v.rotary) {
      Rotation rotation;
      rotation.table = "angles", rotation.tableElement = p.element, rotation.cols = v.dim, rotation.onLoad = true;
      p.rotaryQ = p.rotaryK = p.rotaryV = rotation;
      p.packed = "dz";
    }
    return p;
  }

  /// The module of one phase, or null where no schedule of this variant fits the target.
  mlir::OwningOpRef<mlir::ModuleOp> compile(const Variant &v, Phase until, bool verify = false) {
    ScheduleOverrides overrides;
    overrides.tileRows = v.tileRows;
    if (v.softmax.empty())
      overrides.roles = v.roles;
    else
      overrides.softmax = v.softmax, overrides.splits = v.splits, overrides.staged = v.staged;
    if (!v.p.empty())
      overrides.p = v.p;
    CompileOptions options;
    options.target = v.target, options.until = until, options.verifyEachPhase = verify;
    llvm::Expected<CompiledSpec> compiled = v.epilogue ? compileEpilogue(v, options)
                                                       : compileProblem(context, problem(v), overrides, options);
    if (!compiled) {
      error = llvm::toString(compiled.takeError());
      return {};
    }
    mlir::OwningOpRef<mlir::ModuleOp> module = parse(compiled->text);
    for (tile::KernelOp kernel : llvm::make_early_inc_range(module->getOps<tile::KernelOp>()))
      if (kernel.getSymName().ends_with("_backward") != v.backward)
        kernel.erase();
    return module;
  }

  /// A spec with an epilogue, whose expressions only IR can hold.
  llvm::Expected<CompiledSpec> compileEpilogue(const Variant &v, const CompileOptions &options) {
    const std::string type = "!attn.tensor<jagged(\"offsets\") x heads(4) x " + std::to_string(v.dim) + " x bf16>";
    const std::string o = "!attn.tensor<jagged(\"offsets\") x heads(4) x " + std::to_string(v.dim) + " x f32>";
    const std::string pairs = "!attn.pairs<jagged(\"offsets\") x jagged(\"offsets\") x heads(4) x f32>";
    const std::string mask = "!attn.mask<jagged(\"offsets\") x jagged(\"offsets\")>";
    const std::string text =
        "attn.spec @kernel(q = %q: " + type + ", k = %k: " + type + ", v = %v: " + type + ", gate = %g: " + type +
        ", residual = %r: " + type + ") attributes {emit = #attn.emit<forward, backward>, schedule = {" + v.target +
        " = {roles = \"" + v.roles + "\", tile_m = " + std::to_string(v.tileRows) + "}}} {\n" +
        "%m = attn.pattern #attn.block_diagonal<" + std::to_string(v.block) + "> -> " + mask + "\n" +
        "%s = attn.dots %q, %k where %m : (" + type + ", " + type + ", " + mask + ") -> " + pairs + "\n" +
        "%p, %l = attn.softmax %s : " + pairs + " -> " + pairs + ", !attn.tensor<jagged(\"offsets\") x heads(4) x f32>\n" +
        "%o = attn.combine %p, %v : (" + pairs + ", " + type + ") -> " + o + "\n" +
        "%y = attn.map_elements %o, %g, %r : (" + o + ", " + type + ", " + type + ") -> " + type + " {\n" +
        "^bb0(%x: f32, %gate: f32, %residual: f32, %i: i64, %h: i64, %d: i64, %b: i64, %n: i64):\n" +
        "%t = math.tanh %gate : f32\n%z = arith.mulf %x, %t : f32\n%w = arith.addf %z, %residual : f32\n" +
        "attn.result %w : f32\n}\nattn.yield o = %y : " + type + "\n}\n";
    mlir::OwningOpRef<mlir::ModuleOp> module = parse(text);
    return fovea::compile(*module, options);
  }

  mlir::OwningOpRef<mlir::ModuleOp> parse(llvm::StringRef text) {
    return mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  }

  /// Runs one pass; returns its diagnostics, empty if it succeeded.
  std::string run(mlir::ModuleOp module, std::unique_ptr<mlir::Pass> pass) {
    std::string text;
    mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &d) {
      text += d.str() + "\n";
      return mlir::success();
    });
    mlir::PassManager pm(&context);
    pm.enableVerifier(false);
    pm.addPass(std::move(pass));
    if (succeeded(pm.run(module)))
      return "";
    return text.empty() ? "failed without a message" : text;
  }

  mlir::MLIRContext context;
  std::string error;
};

inline std::string printed(mlir::Operation *op) {
  std::string text;
  llvm::raw_string_ostream os(text);
  op->print(os);
  return text;
}

} // namespace fovea::test

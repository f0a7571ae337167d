// test/unit/codegen/ToPtxTest.cpp - what does the translation accept, refuse and promise?
#include "codegen/common/Registers.h"
#include "codegen/common/Sreg.h"
#include "mlir/Parser/Parser.h"
#include "test/unit/codegen/KernelFixture.h"

using namespace mlir;
using namespace fovea::codegen;

class ToPtxTest : public KernelFixture {
protected:
  /// The error of a translation, or "" when there is none.
  static std::string errorOf(Operation *op, const char *chip, const PtxOptions &options = {}) {
    auto ptx = translateToPtx(op, chip, options);
    return ptx ? std::string() : llvm::toString(ptx.takeError());
  }

  /// The PTX for sm_90a; a test whose translation ends in an error has failed, and gets "".
  static std::string translate(Operation *op) {
    auto ptx = translateToPtx(op, "sm_90a");
    if (ptx)
      return *ptx;
    ADD_FAILURE() << llvm::toString(ptx.takeError());
    return "";
  }
};

TEST_F(ToPtxTest, TargetsAndVersions) {
  begin({}, {32});
  LLVM::ReturnOp::create(b, loc, ValueRange());
  auto blackwell = translateToPtx(*module, "sm_100a"), hopper = translateToPtx(*module, "sm_90a");
  ASSERT_TRUE(bool(blackwell) && bool(hopper));
  EXPECT_TRUE(hasInOrder(*blackwell, {".version 8.8", ".target sm_100a"}));
  EXPECT_TRUE(hasInOrder(*hopper, {".version 8.6", ".target sm_90a"}));
}

TEST_F(ToPtxTest, RefusesOtherChips) {
  EXPECT_EQ(errorOf(*module, "sm_80"), "expected target sm_100a or sm_90a, found 'sm_80'");
}

TEST_F(ToPtxTest, RefusesOtherOps) {
  auto f = begin({}, {32});
  LLVM::ReturnOp::create(b, loc, ValueRange());
  EXPECT_EQ(errorOf(f, "sm_90a"),
            "expected a builtin.module or gpu.module to translate, found 'llvm.func'");
}

TEST_F(ToPtxTest, RefusesOptimisationLevels) {
  PtxOptions options;
  options.optLevel = 7;
  EXPECT_EQ(errorOf(*module, "sm_90a", options),
            "expected an optimisation level of 0 to 3, found 7");
}

TEST_F(ToPtxTest, ReportsWhatItCannotLower) {
  auto source = parseSourceString<ModuleOp>(R"mlir(
    llvm.func @k() attributes {nvvm.kernel} {
      %t = builtin.unrealized_conversion_cast to tensor<4xf32>
      %r = scf.forall (%i) in (4) shared_outs(%o = %t) -> (tensor<4xf32>) {
        scf.forall.in_parallel {
        }
      }
      llvm.return
    })mlir",
                                            &context);
  ASSERT_TRUE(source);
  std::string error = errorOf(*source, "sm_90a");
  EXPECT_NE(error.find("lowering to the LLVM dialect failed"), std::string::npos) << error;
  EXPECT_NE(error.find("scf.forall"), std::string::npos) << error;
}

TEST_F(ToPtxTest, ReportsWhatTheBackEndRefuses) {
  auto source = parseSourceString<ModuleOp>(R"mlir(
    llvm.func @k(%x: i32) attributes {nvvm.kernel} {
      llvm.inline_asm has_side_effects "// $0", "{wrong}" %x : (i32) -> ()
      llvm.return
    })mlir",
                                            &context);
  ASSERT_TRUE(source);
  std::string error = errorOf(*source, "sm_90a");
  EXPECT_NE(error.find("the NVPTX back end refused the kernel: "), std::string::npos) << error;
  EXPECT_NE(error.find("constraint"), std::string::npos) << error;
}

TEST_F(ToPtxTest, ReportsWhatItCannotTranslate) {
  auto source = parseSourceString<ModuleOp>(R"mlir(
    llvm.func @k() attributes {nvvm.kernel} {
      %0 = "builtin.unrealized_conversion_cast"() : () -> index
      %1 = builtin.unrealized_conversion_cast %0 : index to i32
      %p = llvm.mlir.zero : !llvm.ptr<1>
      llvm.store %1, %p : i32, !llvm.ptr<1>
      llvm.return
    })mlir",
                                            &context);
  ASSERT_TRUE(source);
  std::string error = errorOf(*source, "sm_90a");
  EXPECT_NE(error.find("translation to LLVM IR failed"), std::string::npos) << error;
  EXPECT_NE(error.find("unrealized_conversion_cast"), std::string::npos) << error;
}

// Structured control flow, arith, math and index inside a gpu.module, as the tile lowering leaves
// them.
TEST_F(ToPtxTest, LowersTheStandardDialects) {
  auto source = parseSourceString<ModuleOp>(R"mlir(
    module attributes {gpu.container_module} {
      gpu.module @kernels {
        llvm.func @k(%out: !llvm.ptr<1>, %n: i32) attributes {nvvm.kernel} {
          %c0 = arith.constant 0 : i32
          %c1 = arith.constant 1 : i32
          %f0 = arith.constant 0.0 : f32
          %s = scf.for %i = %c0 to %n step %c1 iter_args(%a = %f0) -> f32 : i32 {
            %x = arith.sitofp %i : i32 to f32
            %y = math.fma %x, %x, %a : f32
            scf.yield %y : f32
          }
          %big = arith.cmpf ogt, %s, %f0 : f32
          scf.if %big {
            %k = index.constant 3
            %k32 = index.castu %k : index to i32
            %p = llvm.getelementptr %out[%k32] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
            llvm.store %s, %p : f32, !llvm.ptr<1>
          }
          llvm.return
        }
      }
    })mlir",
                                            &context);
  ASSERT_TRUE(source);
  std::string ptx = translate(*source);
  EXPECT_TRUE(hasInOrder(ptx, {".entry k(", "fma.rn.ftz.f32", "bra", "st.global.b32", "+12]"}));
  Operation *inner = &source->getBody()->front();
  EXPECT_TRUE(isa<gpu::GPUModuleOp>(inner)) << "the source must be left unchanged";
  EXPECT_EQ(translate(inner), ptx);
}

TEST_F(ToPtxTest, DenormalsByOption) {
  begin({{f32()}, {global()}}, {32});
  keep(addF(b, loc, arg(0), arg(0)), 1);
  keep(mulF(b, loc, arg(0), arg(0)), 1);
  LLVM::ReturnOp::create(b, loc, ValueRange());
  PtxOptions exact;
  exact.flushDenormals = false;
  std::string ir;
  exact.llvmIR = &ir;
  auto flushed = translateToPtx(*module, "sm_90a"), kept = translateToPtx(*module, "sm_90a", exact);
  ASSERT_TRUE(bool(flushed) && bool(kept));
  EXPECT_NE(flushed->find("mul.rn.ftz.f32"), std::string::npos) << *flushed;
  EXPECT_EQ(kept->find("ftz"), std::string::npos) << *kept;
  EXPECT_NE(ir.find("define ptx_kernel void @kernel"), std::string::npos) << ir;
}

// Each kernel has an LLVM module and a thread; the text is that of one module.
TEST_F(ToPtxTest, JoinsKernels) {
  auto source = parseSourceString<ModuleOp>(R"mlir(
    llvm.mlir.global external @smem() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<0 x i8>
    llvm.func @first() attributes {nvvm.kernel} {
      nvvm.barrier0
      llvm.return
    }
    llvm.func @second(%p: !llvm.ptr<1>) attributes {nvvm.kernel} {
      %s = llvm.mlir.addressof @smem : !llvm.ptr<3>
      %v = llvm.load %s : !llvm.ptr<3> -> i32
      llvm.store %v, %p : i32, !llvm.ptr<1>
      llvm.return
    }
    llvm.func @third(%p: !llvm.ptr<1>) attributes {nvvm.kernel} {
      %s = llvm.mlir.addressof @smem : !llvm.ptr<3>
      llvm.store %s, %p : !llvm.ptr<3>, !llvm.ptr<1>
      llvm.return
    })mlir",
                                            &context);
  ASSERT_TRUE(source);
  std::string ptx = translate(*source);
  EXPECT_TRUE(hasInOrder(ptx, {".version", ".extern .shared", ".entry first(", ".entry second(", ".entry third("})) << ptx;
  EXPECT_EQ(llvm::StringRef(ptx).count(".version"), 1u) << ptx;
  EXPECT_EQ(llvm::StringRef(ptx).count(".extern .shared"), 1u) << ptx;
  ASSERT_ASSEMBLES(log, ptx, "sm_90a");
}

// test/unit/attn/AnalysisTest.cpp - what later phases ask about a spec
#include "dialect/Attn/Analysis.h"
#include "passes/Attn/DeriveBackward.h"
#include "test/unit/attn/Support.h"

#include <cmath>

namespace fovea::attn::reference {
namespace {

TEST(Analysis, ASelfAttentionWithinBlocks) {
  SpecModule module = SpecModule::example("ads_block");
  for (SpecOp spec : {module.spec(), *deriveBackward(module.spec())}) {
    EXPECT_EQ(blockDiagonalSize(spec), 64);
    EXPECT_EQ(scoreScale(spec), double(float(1 / std::sqrt(128.0))));
    EXPECT_TRUE(hasDefaultScore(spec));
    EXPECT_TRUE(usesSoftmax(spec));
  }
  llvm::SmallVector<Input> all = inputs(module.spec());
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[1].name, "k");
  EXPECT_EQ(all[1].rows, RowsAttr::jagged(&module.context(), "offsets"));
  EXPECT_EQ(all[1].heads, 4);
  EXPECT_EQ(all[1].features, 128);
  EXPECT_TRUE(all[1].type.getElementType().isBF16());
}

TEST(Analysis, OtherMasksAndScoresAreNotTakenForIt) {
  SpecModule llm = SpecModule::example("llm");
  EXPECT_FALSE(blockDiagonalSize(llm.spec()));
  EXPECT_FALSE(scoreScale(llm.spec())); // a softcap
  EXPECT_FALSE(hasDefaultScore(llm.spec()));
  SpecModule hstu = SpecModule::example("hstu");
  EXPECT_TRUE(hasDefaultScore(hstu.spec()));
  EXPECT_FALSE(usesSoftmax(hstu.spec()));
  SpecModule custom = SpecModule::example("custom");
  EXPECT_FALSE(hasDefaultScore(custom.spec()));
  EXPECT_EQ(inputs(custom.spec())[4].name, "slope");
  EXPECT_FALSE(inputs(custom.spec())[4].rows);
}

} // namespace
} // namespace fovea::attn::reference

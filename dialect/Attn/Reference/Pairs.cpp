// dialect/Attn/Reference/Pairs.cpp - collects the present pairs; runs expressions on them
#include "dialect/Attn/Reference/Pairs.h"

#include <limits>

using namespace mlir;

namespace fovea::attn::reference {

llvm::Expected<std::shared_ptr<const PairSet>> makePairSet(const Batch &batch, MaskType type, const MaskValue &mask,
                                                           int64_t heads) {
  auto set = std::make_shared<PairSet>();
  set->perHead = mask.perHead;
  set->heads = heads;
  for (int64_t b = 0; b < batch.sequences(); ++b) {
    PairSet::Sequence &s = set->sequences.emplace_back();
    s.queries = batch.length(type.getQueries(), b);
    s.keys = batch.length(type.getKeys(), b);
    if (s.keys > std::numeric_limits<int32_t>::max())
      return llvm::createStringError("evaluator: expected sequences below 2^31 keys");
    s.starts.push_back(0);
    for (int64_t h = 0; h < (mask.perHead ? heads : 1); ++h)
      for (int64_t i = 0; i < s.queries; ++i) {
        if (llvm::Error error = mask.keysOf({batch, b, h, i, s.queries, s.keys}, s.present))
          return std::move(error);
        s.starts.push_back(s.present.size());
      }
  }
  return set;
}

llvm::Error runOnPairs(const Batch &batch, Expression &expression, ArrayRef<const PairsValue *> inputs,
                       llvm::function_ref<llvm::Error(int64_t, int64_t, int64_t, size_t)> row) {
  const PairSet &set = *inputs[0]->set;
  for (int64_t b = 0; b < batch.sequences(); ++b)
    for (int64_t h = 0; h < set.heads; ++h)
      for (int64_t i = 0; i < set.sequences[b].queries; ++i) {
        ArrayRef<int32_t> keys = set.row(b, h, i);
        std::vector<Column> arguments;
        for (const PairsValue *input : inputs)
          arguments.push_back({std::vector<double>(input->row(b, h, i), input->row(b, h, i) + keys.size())});
        arguments.push_back(Column::uniform(i));
        arguments.push_back({std::vector<double>(keys.begin(), keys.end())});
        for (int64_t value : {h, b, set.sequences[b].queries, set.sequences[b].keys})
          arguments.push_back(Column::uniform(value));
        if (llvm::Error error = expression.run(batch, b, keys.size(), std::move(arguments)))
          return error;
        if (llvm::Error error = row(b, h, i, keys.size()))
          return error;
      }
  return llvm::Error::success();
}

} // namespace fovea::attn::reference

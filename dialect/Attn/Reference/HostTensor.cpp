// dialect/Attn/Reference/HostTensor.cpp - indexing of host tensors
#include "dialect/Attn/Reference/Evaluator.h"

namespace fovea::attn::reference {

HostTensor::HostTensor(std::vector<int64_t> dimensions, double value) : shape(std::move(dimensions)) {
  strides.resize(shape.size());
  int64_t stride = 1;
  for (size_t n = shape.size(); n-- > 0; stride *= shape[n])
    strides[n] = stride;
  values.assign(stride, value);
}

static int64_t address(const HostTensor &tensor, llvm::ArrayRef<int64_t> index) {
  assert(index.size() == tensor.shape.size() && "one index per dimension");
  int64_t result = 0;
  for (size_t n = 0; n < index.size(); ++n) {
    assert(index[n] >= 0 && index[n] < tensor.shape[n] && "index inside the tensor");
    result += index[n] * tensor.strides[n];
  }
  return result;
}

double &HostTensor::at(llvm::ArrayRef<int64_t> index) { return values[address(*this, index)]; }
double HostTensor::at(llvm::ArrayRef<int64_t> index) const { return values[address(*this, index)]; }

int64_t HostTensor::elements() const {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

} // namespace fovea::attn::reference

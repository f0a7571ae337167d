// frontend/cli/Execution.cpp - host arrays to a device and back.
#include "frontend/cli/Execution.h"
#include "dialect/Attn/Reference/Batch.h"
#include "frontend/cli/Elements.h"

#include <cmath>

namespace fovea {
using namespace attn;

Expected<std::vector<OutputShape>> outputShapes(SpecOp spec, const Arrays &inputs) {
  llvm::Expected<reference::Batch> batch = reference::Batch::bind(spec, toNamedTensors(spec, inputs));
  if (!batch)
    return Error{llvm::toString(batch.takeError())};
  std::vector<OutputShape> outputs;
  YieldOp yield = spec.getYield();
  for (auto [name, value] : llvm::zip(yield.getResultNames(), yield.getValues())) {
    auto type = llvm::cast<AttnTensorType>(value.getType());
    int64_t heads = mlir::ShapedType::isDynamic(type.getHeads()) ? batch->launchHeads() : type.getHeads();
    // The gradient of a table whose length the launch knows is as long as the table.
    std::string result = llvm::cast<mlir::StringAttr>(name).str();
    auto table = inputs.find(result.substr(1));
    int64_t extent = table != inputs.end() && !table->second.shape.empty() ? table->second.shape[0] : 0;
    reference::HostTensor host = toHost(*batch, makeTensor(*batch, type, 0, heads, extent));
    std::vector<bool> owned; // zeros, and NaN where no sequence owns an element
    for (double element : host.values)
      owned.push_back(!std::isnan(element));
    outputs.push_back({result, dtypeOf(type.getElementType()), host.shape, owned});
  }
  return outputs;
}

Expected<Arrays> execute(const Module &module, const std::string &operation, const Arrays &inputs,
                         const std::vector<OutputShape> &outputs, unsigned char fill, const std::string &variant) {
  const Device &device = module.device();
  std::map<std::string, Buffer> buffers;
  std::vector<Tensor> tensors;
  LaunchOptions options;
  options.variant = variant;
  for (const auto &[name, array] : inputs) {
    const TensorSpec *declared = module.manifest().findTensor(name);
    if (!declared)
      continue;
    Expected<Buffer> buffer = Buffer::fromHost(device, array.bytes.data(), array.bytes.size());
    if (!buffer)
      return buffer.error();
    tensors.push_back(buffer->view(name, array.dtype, array.shape));
    buffers[name] = std::move(*buffer);
    if (declared->role == TensorSpec::Role::Offsets) {
      std::vector<double> values = decodeElements(array.bytes, array.dtype);
      options.hostOffsets.push_back({name, {values.begin(), values.end()}});
    }
  }
  for (const OutputShape &output : outputs) {
    size_t bytes = dtypeBytes(output.dtype);
    for (int64_t extent : output.shape)
      bytes *= size_t(extent);
    Expected<Buffer> buffer = Buffer::allocate(device, bytes);
    if (!buffer)
      return buffer.error();
    if (auto ok = buffer->fill(fill); !ok)
      return ok.error();
    tensors.push_back(buffer->view(output.name, output.dtype, output.shape));
    buffers[output.name] = std::move(*buffer);
  }
  if (auto ok = module.launch(operation, tensors, Stream::defaultOf(device), options); !ok)
    return ok.error();
  if (auto ok = device.synchronize(); !ok)
    return ok.error();
  Arrays results;
  for (const OutputShape &output : outputs) {
    NpyArray array{output.dtype, output.shape, std::string(buffers[output.name].size(), '\0')};
    if (auto ok = buffers[output.name].download(array.bytes.data(), array.bytes.size()); !ok)
      return ok.error();
    results[output.name] = std::move(array);
  }
  return results;
}

} // namespace fovea

// test/device/launch_overhead.cpp - host time of a prepared launch beside that of a bare cuLaunchKernel.
//   launch_overhead [cuda:0]    prints one line of JSON; medians over 2000 launches of a kernel that does nothing
#include "runtime/abi/Sha256.h"
#include "runtime/core/Bench.h"
#include "runtime/core/Module.h"

#include <chrono>
#include <cstdio>

using namespace fovea;

namespace {

/// Parameters like an attention's: four tensor maps and a few words.
std::string emptyKernel(std::string_view target) {
  return ".version 8.6\n.target " + std::string(target) + "\n.address_size 64\n.visible .entry nothing(\n" +
         ".param .align 64 .b8 q[128], .param .align 64 .b8 k[128], .param .align 64 .b8 v[128],\n"
         ".param .align 64 .b8 o[128], .param .u64 lse, .param .u32 batch) { ret; }\n";
}

Manifest manifestFor(std::string_view target, const std::string &ptx) {
  Manifest m;
  m.spec = "nothing";
  m.target = target;
  m.ptx = "nothing.ptx";
  m.ptxSha256 = sha256(ptx);
  KernelSpec kernel;
  kernel.name = "forward";
  kernel.entry = "nothing";
  kernel.block = {128, 1, 1};
  for (const char *name : {"q", "k", "v", "o"}) {
    auto role = name[0] == 'o' ? TensorSpec::Role::Output : TensorSpec::Role::Input;
    m.tensors.push_back({name, role, {DType::BF16}, {"total", 4, 128}, 16, 16, false, ""});
    ParamSpec map;
    map.kind = ParamSpec::Kind::TensorMap;
    map.tensor = name;
    map.dims = {64, "total", 8};
    map.strides = {1024, 128};
    map.box = {64, 16, 2};
    map.swizzle = "128B";
    kernel.params.push_back(map);
  }
  m.tensors.push_back({"lse", TensorSpec::Role::Output, {DType::F32}, {"total", 4}, 4, 4, true, ""});
  ParamSpec lse, batch;
  lse.tensor = "lse";
  batch.kind = ParamSpec::Kind::I32;
  batch.value = "total";
  kernel.params.push_back(lse);
  kernel.params.push_back(batch);
  m.kernels = {kernel};
  return m;
}

/// Median host nanoseconds of one call; the device is drained now and then, so that its queue never fills.
template <typename Call> double medianNanoseconds(const Device &device, Call call) {
  std::vector<double> times;
  for (int i = 0; i < 2200; ++i) {
    if (i % 100 == 0 && !device.synchronize())
      return -1;
    auto start = std::chrono::steady_clock::now();
    if (!call())
      return -1;
    double time = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
    if (i >= 200)
      times.push_back(time);
  }
  return median(times);
}

Expected<void> run(const char *spec) {
  Expected<Device> device = Device::open(spec);
  if (!device)
    return device.error();
  if (!device->facts().target)
    return Error{"no target fits: " + device->description()};
  std::string_view target = device->facts().target->name;
  std::string ptx = emptyKernel(target);
  Expected<Module> module = Module::load(*device, ptx, manifestFor(target, ptx));
  if (!module)
    return module.error();
  Expected<Buffer> memory = Buffer::allocate(*device, 4 * 64 * 1024);
  if (!memory)
    return memory.error();
  std::vector<Tensor> tensors;
  for (int i = 0; i < 4; ++i)
    tensors.push_back(memory->view(std::string(1, "qkvo"[i]), DType::BF16, {64, 4, 128}, {}, size_t(i) * 64 * 1024));
  Expected<PreparedLaunch> prepared = module->prepare("forward", tensors);
  if (!prepared)
    return prepared.error();
  Stream stream = Stream::defaultOf(*device);
  Expected<void> first = prepared->launch(stream);
  if (!first)
    return first;

  // The bare call takes the same kernel and the same number and size of parameters.
  const DriverApi &api = device->driver();
  ContextScope scope(*device);
  cu::CUmodule bareModule = nullptr;
  cu::CUfunction function = nullptr;
  if (auto ok = api.check(api.cuModuleLoadDataEx(&bareModule, ptx.c_str(), 0, nullptr, nullptr), "cuModuleLoadDataEx");
      !ok)
    return ok;
  if (auto ok = api.check(api.cuModuleGetFunction(&function, bareModule, "nothing"), "cuModuleGetFunction"); !ok)
    return ok;
  struct alignas(64) Map {
    unsigned char bytes[128];
  } maps[4] = {};
  uint64_t lse = 0;
  uint32_t batch = 64;
  void *params[] = {&maps[0], &maps[1], &maps[2], &maps[3], &lse, &batch};
  double bare = medianNanoseconds(*device, [&] {
    return api.cuLaunchKernel(function, 1, 1, 1, 128, 1, 1, 0, nullptr, params, nullptr) == cu::CUDA_SUCCESS;
  });
  double ours = medianNanoseconds(*device, [&] { return bool(prepared->launch(stream)); });
  double whole = medianNanoseconds(*device, [&] { return bool(module->launch("forward", tensors, stream)); });
  std::printf("{\"device\": \"%s\", \"bare_ns\": %.0f, \"prepared_ns\": %.0f, \"prepared_over_bare_ns\": %.0f, "
              "\"prepare_and_launch_ns\": %.0f}\n",
              device->facts().name.c_str(), bare, ours, ours - bare, whole);
  return {};
}

} // namespace

int main(int argc, char **argv) {
  Expected<void> ok = run(argc > 1 ? argv[1] : "cuda:0");
  return ok ? 0 : (std::fprintf(stderr, "error: %s\n", ok.message().c_str()), 1);
}

// runtime/core/Ceilings.cpp - the driver's own copy, and a kernel that does nothing but multiply.
#include "runtime/core/Bench.h"

#include <algorithm>

namespace fovea {
using namespace cu;

namespace {

constexpr int kProducts = 8192; ///< m64n128k16 products of each of the two warp groups of a CTA

/// Two warp groups per SM multiply the same 32 KiB of random bf16 over and over (PTX ISA, "wgmma.mma_async"):
/// descriptors K-major with 128-byte swizzle. Half of the widest product: a quarter of the time in ptxas, and as fast.
/// Thread 0 stores the clocks it took.
std::string tensorPtx() {
  std::string accumulators, sum;
  for (int i = 0; i < 64; ++i)
    accumulators += (i ? ", %f" : "%f") + std::to_string(i);
  for (int i = 1; i < 64; ++i)
    sum += "  add.f32 %f0, %f0, %f" + std::to_string(i) + ";\n";
  std::string products;
  for (int k = 0; k < 4; ++k)
    products += "  wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {" + accumulators + "}, %rd" +
                std::to_string(4 + k) + ", %rd" + std::to_string(8 + k) + ", 1, 1, 1, 0, 0;\n";
  std::string descriptors;
  for (int k = 0; k < 4; ++k)
    descriptors += "  add.s64 %rd" + std::to_string(4 + k) + ", %rd2, " + std::to_string(2 * k) + "; add.s64 %rd" +
                   std::to_string(8 + k) + ", %rd3, " + std::to_string(2 * k) + ";\n";
  return ".version 8.0\n.target sm_90a\n.address_size 64\n.extern .shared .align 1024 .b8 tile[];\n"
         ".visible .entry multiply(.param .u64 clocks) .reqntid 256 {\n"
         "  .reg .b32 %r<16>; .reg .b64 %rd<24>; .reg .f32 %f<64>; .reg .pred %p<4>;\n"
         "  mov.u32 %r0, %tid.x; mov.u32 %r1, tile; mov.u32 %r2, %r0;\n"
         "fill:\n"
         "  mul.lo.u32 %r3, %r2, 2654435761; shr.u32 %r4, %r3, 15; xor.b32 %r3, %r3, %r4; mul.lo.u32 %r3, %r3, 2246822519;\n"
         "  and.b32 %r3, %r3, 0x80ff80ff; or.b32 %r3, %r3, 0x3e803e80;\n"
         "  mad.lo.u32 %r4, %r2, 4, %r1; st.shared.b32 [%r4], %r3;\n"
         "  add.u32 %r2, %r2, 256; setp.lt.u32 %p0, %r2, 8192;\n"
         "  @%p0 bra fill;\n"
         "  fence.proxy.async.shared::cta;\n  bar.sync 0;\n"
         "  shr.u32 %r5, %r0, 7; mad.lo.u32 %r5, %r5, 8192, %r1; shr.u32 %r5, %r5, 4; and.b32 %r5, %r5, 0x3fff;\n"
         "  add.u32 %r6, %r1, 16384; shr.u32 %r6, %r6, 4; and.b32 %r6, %r6, 0x3fff;\n"
         "  cvt.u64.u32 %rd2, %r5; cvt.u64.u32 %rd3, %r6;\n"
         "  or.b64 %rd2, %rd2, 0x4000004000010000; or.b64 %rd3, %rd3, 0x4000004000010000;\n" +
         descriptors +
         [] {
           std::string zero;
           for (int i = 0; i < 64; ++i)
             zero += "  mov.f32 %f" + std::to_string(i) + ", 0f00000000;\n";
           return zero;
         }() +
         "  mov.u32 %r7, 0; mov.u64 %rd12, %clock64;\n"
         "loop:\n  wgmma.fence.sync.aligned;\n" +
         products +
         "  wgmma.commit_group.sync.aligned;\n  wgmma.wait_group.sync.aligned 0;\n"
         "  add.u32 %r7, %r7, 4; setp.lt.u32 %p1, %r7, " +
         std::to_string(kProducts) +
         ";\n  @%p1 bra loop;\n"
         "  mov.u64 %rd13, %clock64; sub.s64 %rd13, %rd13, %rd12;\n" +
         sum +
         // The sum decides nothing, but the compiler must believe that it does.
         "  setp.eq.f32 %p2, %f0, 0f7F7FFFFF;\n  setp.eq.u32 %p3, %r0, 0;\n  or.pred %p2, %p2, %p3;\n"
         "  ld.param.u64 %rd0, [clocks];\n  @%p2 st.global.b64 [%rd0], %rd13;\n  ret;\n}\n";
}

/// A module of one kernel, unloaded at the end.
struct Kernel {
  Device device;
  CUmodule module = nullptr;
  CUfunction function = nullptr;

  explicit Kernel(const Device &device) : device(device) {}
  Kernel(const Kernel &) = delete;
  ~Kernel() {
    ContextScope scope(device);
    if (module)
      (void)device.driver().cuModuleUnload(module);
  }
  Expected<void> load(const std::string &ptx, const char *entry) {
    ContextScope scope(device);
    const DriverApi &api = device.driver();
    if (auto ok = api.check(api.cuModuleLoadDataEx(&module, ptx.c_str(), 0, nullptr, nullptr), "cuModuleLoadDataEx",
                            std::string("the ceiling's kernel '") + entry + "'");
        !ok)
      return ok;
    return api.check(api.cuModuleGetFunction(&function, module, entry), "cuModuleGetFunction", entry);
  }
  Expected<void> launch(unsigned grid, unsigned smem, const Stream &stream, void **params) const {
    ContextScope scope(device);
    const DriverApi &api = device.driver();
    return api.check(api.cuLaunchKernel(function, grid, 1, 1, 256, 1, 1, smem, stream.handle(), params, nullptr),
                     "cuLaunchKernel", "a ceiling's kernel");
  }
};

// Where the driver happens to place two buffers decides a tenth of the rate (seen on an H200: 3.81 or 4.25 TB/s by the
// pair, the same pair always the same), so three buffers are copied in turn and the fastest pair is the ceiling.
Expected<void> measureCopy(const Device &device, Ceilings &ceilings) {
  constexpr size_t bytes = size_t(1) << 31;
  std::vector<Buffer> buffers;
  for (int i = 0; i < 3; ++i) {
    Expected<Buffer> buffer = Buffer::allocate(device, bytes);
    if (!buffer)
      return buffer.error();
    if (auto ok = buffer->fill(0x5a); !ok)
      return ok;
    buffers.push_back(std::move(*buffer));
  }
  for (size_t i = 0; i < buffers.size(); ++i) {
    const Buffer &from = buffers[i], &to = buffers[(i + 1) % buffers.size()];
    Expected<std::vector<double>> times = timeOnDevice(device, {5, 20}, [&](const Stream &stream) {
      ContextScope scope(device);
      const DriverApi &api = device.driver();
      return api.check(api.cuMemcpyDtoDAsync_v2(to.address(), from.address(), bytes, stream.handle()), "cuMemcpyDtoDAsync");
    });
    if (!times)
      return times.error();
    double ms = median(*times);
    if (ms > 0)
      ceilings.copyBytesPerSecond = std::max(ceilings.copyBytesPerSecond, 2.0 * double(bytes) / (ms * 1e-3));
  }
  return {};
}

Expected<void> measureTensor(const Device &device, Ceilings &ceilings) {
  Expected<Buffer> clocks = Buffer::allocate(device, 8);
  if (!clocks)
    return clocks.error();
  Kernel kernel(device);
  if (auto ok = kernel.load(tensorPtx(), "multiply"); !ok)
    return ok;
  constexpr int smem = 32768;
  unsigned grid = unsigned(device.facts().sms);
  CUdeviceptr address = clocks->address();
  void *params[1] = {&address};
  {
    ContextScope scope(device);
    if (auto ok = device.driver().check(
            device.driver().cuFuncSetAttribute(kernel.function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, smem),
            "cuFuncSetAttribute", "32768 bytes of shared memory");
        !ok)
      return ok;
  }
  Expected<std::vector<double>> times =
      timeOnDevice(device, {20, 20}, [&](const Stream &s) { return kernel.launch(grid, smem, s, params); });
  if (!times)
    return times.error();
  int64_t ticks = 0;
  if (auto ok = clocks->download(&ticks, 8); !ok)
    return ok;
  double seconds = median(*times) * 1e-3;
  ceilings.tensorFlops = 2.0 * 64 * 128 * 16 * kProducts * 2 * grid / seconds;
  ceilings.tensorClockMHz = double(ticks) / seconds / 1e6;
  return {};
}

} // namespace

Expected<Ceilings> measureCeilings(const Device &device) {
  Ceilings ceilings;
  if (!device.facts().target || device.driver().isEmulator)
    return ceilings; // an emulator's time says nothing about a chip
  if (auto ok = measureCopy(device, ceilings); !ok)
    return ok.error();
  if (device.facts().target->wgmma)
    if (auto ok = measureTensor(device, ceilings); !ok)
      return ok.error();
  return ceilings;
}

} // namespace fovea

// examples/launch_ads_block.cpp - launches through the typed header that `fovea compile examples/ads_block.attn` writes.
//   build/bin/launch_ads_block build/examples [emulator]      (the build compiles the spec there)
#include "ads_block.sm_100a.h"

#include <cstdio>

using namespace fovea;
namespace ads_block = fovea::kernels::ads_block;

Expected<void> run(const std::string &folder, const char *where) {
  Expected<Device> device = Device::open(where);
  Expected<Module> module = device ? Module::load(*device, folder + "/" + ads_block::manifest) : device.error();
  if (!module)
    return module.error();
  constexpr int64_t rows = 100, heads = 4, depth = 128;
  std::vector<uint16_t> ones(rows * heads * depth, 0x3f80); // bf16 1.0
  std::vector<int32_t> offsets = {0, 10, 60, rows};
  size_t bytes = ones.size() * sizeof(uint16_t);
  Expected<Buffer> in = Buffer::fromHost(*device, ones.data(), bytes), out = Buffer::allocate(*device, bytes),
                   cuts = Buffer::fromHost(*device, offsets.data(), offsets.size() * sizeof(int32_t));
  if (!in || !out || !cuts)
    return !in ? in.error() : !out ? out.error() : cuts.error();

  auto view = [&](const Buffer &b) { return DeviceArray<bf16, 3>((bf16 *)b.address(), {rows, heads, depth}); };
  Stream stream = Stream::defaultOf(*device);
  ads_block::Forward arguments{view(*in), view(*in), view(*in), view(*out), {(int32_t *)cuts->address(), 4}};
  if (auto ok = ads_block::launch(*module, arguments, stream); !ok)
    return ok;
  if (auto ok = stream.synchronize(); !ok)
    return ok;
  if (auto ok = out->download(ones.data(), bytes); !ok)
    return ok;
  return std::printf("o[0] = %#x (an average of ones, 0x3f80)\n", unsigned(ones[0])), Expected<void>();
}

int main(int argc, char **argv) {
  Expected<void> ok = argc > 1 ? run(argv[1], argc > 2 ? argv[2] : "emulator") : Error{"usage: DIRECTORY [DEVICE]"};
  return ok ? 0 : (std::fprintf(stderr, "error: %s\n", ok.message().c_str()), 1);
}

// examples/launch_ads_block.cpp - runs `fovea compile examples/ads_block.attn -o DIR` on three jagged sequences.
//   launch_ads_block DIR/ads_block.sm_100a.json [cuda:0 | emulator]
#include "runtime/core/Module.h"

#include <cstdio>

using namespace fovea;

Expected<void> run(const char *manifest, const char *where) {
  Expected<Device> device = Device::open(where);
  Expected<Module> module = device ? Module::load(*device, manifest) : device.error();
  if (!module)
    return module.error();
  const int64_t rows = 100, heads = 4, depth = 128;
  std::vector<uint16_t> ones(rows * heads * depth, 0x3f80); // bf16 1.0
  std::vector<int32_t> offsets = {0, 10, 60, rows};
  size_t bytes = ones.size() * sizeof(uint16_t);
  Expected<Buffer> in = Buffer::fromHost(*device, ones.data(), bytes), out = Buffer::allocate(*device, bytes),
                   cuts = Buffer::fromHost(*device, offsets.data(), offsets.size() * sizeof(int32_t));
  if (!in || !out || !cuts)
    return !in ? in.error() : !out ? out.error() : cuts.error();

  auto view = [&](const Buffer &b, const char *name) { return b.view(name, DType::BF16, {rows, heads, depth}); };
  Stream stream = Stream::defaultOf(*device);
  if (auto ok = module->launch("forward", {view(*in, "q"), view(*in, "k"), view(*in, "v"), view(*out, "o"),
                                           cuts->view("offsets", DType::I32, {4})}, stream); !ok)
    return ok;
  if (auto ok = stream.synchronize(); !ok)
    return ok;
  std::vector<uint16_t> o(ones.size());
  if (auto ok = out->download(o.data(), bytes); !ok)
    return ok;
  return std::printf("o[0] = %#x (an average of ones, 0x3f80)\n", unsigned(o[0])), Expected<void>();
}

int main(int argc, char **argv) {
  Expected<void> ok = argc > 1 ? run(argv[1], argc > 2 ? argv[2] : "emulator") : Error{"usage: MANIFEST [DEVICE]"};
  return ok ? 0 : (std::fprintf(stderr, "error: %s\n", ok.message().c_str()), 1);
}

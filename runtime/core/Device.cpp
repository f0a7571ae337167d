// runtime/core/Device.cpp - opening devices and asking them what they are.
#include "runtime/core/Device.h"

#include <cctype>
#include <cstdlib>

namespace fovea {
using namespace cu;

namespace {

constexpr const char *kSpecHelp = "expected cuda:N, emulator, or emulator:TARGET";

Expected<DeviceFacts> readFacts(const DriverApi &api, CUdevice device, int ordinal) {
  DeviceFacts facts;
  facts.ordinal = ordinal;
  char name[256] = {};
  if (auto ok = api.check(api.cuDeviceGetName(name, sizeof name, device), "cuDeviceGetName"); !ok)
    return ok.error();
  facts.name = name;
  if (auto ok = api.check(api.cuDeviceTotalMem_v2(&facts.memory, device), "cuDeviceTotalMem"); !ok)
    return ok.error();
  const std::pair<int *, CUdevice_attribute> attributes[] = {
      {&facts.computeMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR},
      {&facts.computeMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR},
      {&facts.sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT},
      {&facts.maxDynamicSmem, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN},
      {&facts.clockKHz, CU_DEVICE_ATTRIBUTE_CLOCK_RATE},
  };
  for (auto [value, attribute] : attributes)
    if (auto ok = api.check(api.cuDeviceGetAttribute(value, attribute, device), "cuDeviceGetAttribute",
                            "read attribute " + std::to_string(attribute));
        !ok)
      return ok.error();
  facts.target = targetForCapability(facts.computeMajor, facts.computeMinor);
  return facts;
}

Expected<int> countDevices(const DriverApi &api) {
  int count = 0;
  if (auto ok = api.check(api.cuDeviceGetCount(&count), "cuDeviceGetCount"); !ok)
    return ok.error();
  return count;
}

Expected<Device> openCuda(const std::string &spec, const std::string &suffix) {
  int ordinal = 0;
  for (char c : suffix) {
    if (!std::isdigit(static_cast<unsigned char>(c)) || ordinal > 9999)
      return Error{"unknown device '" + spec + "': " + kSpecHelp};
    ordinal = ordinal * 10 + (c - '0');
  }
  Expected<const DriverApi *> api = DriverApi::cuda();
  if (!api)
    return api.error();
  Expected<int> count = countDevices(**api);
  if (!count)
    return count.error();
  if (ordinal >= *count)
    return Error{"there is no device '" + spec + "': the driver sees " + std::to_string(*count) +
                 " GPU(s), numbered from 0; CUDA_VISIBLE_DEVICES may hide some"};
  return Device::open(**api, ordinal, "cuda:" + std::to_string(ordinal));
}

Expected<Device> openEmulator(const std::string &spec, const std::string &chip) {
  const Target *wanted = findTarget(chip);
  if (!chip.empty() && !wanted)
    return Error{"unknown device '" + spec + "': the emulator knows " + targetNames()};
  Expected<const DriverApi *> api = DriverApi::emulator();
  if (!api)
    return api.error();
  if (!wanted)
    return Device::open(**api, 0, spec);
  Expected<int> count = countDevices(**api);
  if (!count)
    return count.error();
  for (int i = 0; i < *count; ++i) {
    Expected<Device> device = Device::open(**api, i, spec);
    if (!device || device->facts().target == wanted)
      return device;
  }
  const char *chips = std::getenv("FOVEA_EMULATE");
  return Error{"cannot open '" + spec + "': the emulator stands for FOVEA_EMULATE=" + (chips ? chips : "") +
               "; add " + chip + ", or unset it"};
}

} // namespace

Device::State::~State() {
  // At process exit a driver may already be gone; there is nobody left to tell.
  if (context)
    (void)api->cuDevicePrimaryCtxRelease_v2(facts.ordinal);
}

Expected<Device> Device::open(const DriverApi &api, int ordinal, const std::string &spec) {
  CUdevice handle = 0;
  if (auto ok = api.check(api.cuDeviceGet(&handle, ordinal), "cuDeviceGet", "open " + spec); !ok)
    return ok.error();
  Expected<DeviceFacts> facts = readFacts(api, handle, ordinal);
  if (!facts)
    return facts.error();
  Device device;
  device.state = std::make_shared<State>();
  device.state->api = &api;
  device.state->spec = spec;
  device.state->facts = *facts;
  if (auto ok = api.check(api.cuDevicePrimaryCtxRetain(&device.state->context, handle), "cuDevicePrimaryCtxRetain",
                          "open " + spec);
      !ok)
    return ok.error();
  return device;
}

Expected<Device> Device::open(const std::string &spec) {
  size_t colon = spec.find(':');
  std::string kind = spec.substr(0, colon);
  std::string suffix = colon == std::string::npos ? "" : spec.substr(colon + 1);
  bool bareColon = colon != std::string::npos && suffix.empty();
  if (kind == "cuda" && !bareColon)
    return openCuda(spec, suffix);
  if (kind == "emulator" && !bareColon)
    return openEmulator(spec, suffix);
  return Error{"unknown device '" + spec + "': " + kSpecHelp};
}

Expected<void> Device::synchronize() const {
  ContextScope scope(*this);
  return driver().check(driver().cuCtxSynchronize(), "cuCtxSynchronize", "wait for " + spec());
}

std::string Device::description() const {
  const DeviceFacts &f = facts();
  return spec() + "  " + f.name + "  compute " + std::to_string(f.computeMajor) + "." +
         std::to_string(f.computeMinor) + "  " + std::to_string(f.sms) + " SMs  " +
         std::to_string(f.memory >> 30) + " GiB  " +
         (f.target ? "target " + std::string(f.target->name) : "no Fovea target (known: " + targetNames() + ")");
}

ContextScope::ContextScope(const Device &device) : api(device.driver()) {
  CUcontext current = nullptr;
  if (api.cuCtxGetCurrent(&current) == CUDA_SUCCESS && current == device.context())
    return;
  pushed = api.cuCtxPushCurrent_v2(device.context()) == CUDA_SUCCESS;
}

ContextScope::~ContextScope() {
  CUcontext ignored;
  if (pushed)
    (void)api.cuCtxPopCurrent_v2(&ignored);
}

DeviceList listDevices() {
  DeviceList list;
  auto add = [&](Expected<Device> device) {
    if (device)
      list.devices.push_back(*device);
    else if (list.notes.empty() || list.notes.back() != device.message())
      list.notes.push_back(device.message());
  };
  Expected<const DriverApi *> cuda = DriverApi::cuda();
  if (!cuda)
    list.notes.push_back(cuda.message());
  else if (Expected<int> count = countDevices(**cuda); count)
    for (int i = 0; i < *count; ++i)
      add(Device::open("cuda:" + std::to_string(i)));
  for (const Target &target : allTargets())
    add(Device::open("emulator:" + std::string(target.name)));
  return list;
}

} // namespace fovea

// runtime/core/CApi.cpp - the C interface: translates handles and messages, decides nothing.
#include "runtime/core/Module.h"
#include "runtime/core/fovea.h"

using namespace fovea;

struct fovea_device {
  Device device;
};
struct fovea_module {
  Module module;
};
struct fovea_prepared {
  PreparedLaunch launch;
  Device device;
};

namespace {

thread_local std::string lastError;

int fail(const Error &error) {
  lastError = error.message;
  return error.driverCode ? 2 : 1;
}

int report(const Expected<void> &result) { return result ? 0 : fail(result.error()); }

template <typename Handle, typename T, typename... Rest> int give(Expected<T> value, Handle **out, Rest... rest) {
  *out = nullptr;
  if (!value)
    return fail(value.error());
  *out = new Handle{std::move(*value), std::move(rest)...};
  return 0;
}

Expected<std::vector<Tensor>> convert(const fovea_tensor *tensors, int32_t count) {
  std::vector<Tensor> result;
  for (int32_t i = 0; i < count; ++i) {
    const fovea_tensor &from = tensors[i];
    if (!from.name || !from.dtype || from.rank < 0 || (from.rank > 0 && !from.shape))
      return Error{"tensor " + std::to_string(i) + " of the call has no name, element type or shape"};
    std::optional<DType> dtype = parseDType(from.dtype);
    if (!dtype)
      return Error{"tensor '" + std::string(from.name) + "': unknown element type '" + from.dtype + "'"};
    Tensor tensor{from.name, reinterpret_cast<unsigned long long>(from.data), *dtype,
                  std::vector<int64_t>(from.shape, from.shape + from.rank), {}};
    if (from.strides)
      tensor.strides.assign(from.strides, from.strides + from.rank);
    else
      tensor.strides = contiguousStrides(tensor.shape);
    result.push_back(std::move(tensor));
  }
  return result;
}

/// Runs `run(driver)` in the device's context.
template <typename Run> int driverCall(const fovea_device &handle, const char *call, Run run) {
  ContextScope scope(handle.device);
  return report(handle.device.driver().check(run(handle.device.driver()), call));
}

cu::CUdeviceptr address(const void *data) { return reinterpret_cast<cu::CUdeviceptr>(data); }

} // namespace

extern "C" {

const char *fovea_error(void) { return lastError.c_str(); }
const char *fovea_version(void) { return FOVEA_VERSION; }

int fovea_open(const char *spec, fovea_device **device) { return give(Device::open(spec ? spec : ""), device); }
void fovea_close(fovea_device *device) { delete device; }
int fovea_synchronize(fovea_device *device) { return report(device->device.synchronize()); }

int fovea_alloc(fovea_device *device, size_t bytes, void **data) {
  cu::CUdeviceptr pointer = 0;
  int status = driverCall(*device, "cuMemAlloc", [&](const DriverApi &api) {
    return api.cuMemAlloc_v2(&pointer, bytes ? bytes : 1);
  });
  *data = reinterpret_cast<void *>(pointer);
  return status;
}

int fovea_free(fovea_device *device, void *data) {
  return driverCall(*device, "cuMemFree", [&](const DriverApi &api) { return api.cuMemFree_v2(address(data)); });
}

int fovea_upload(fovea_device *device, void *to, const void *from, size_t bytes) {
  return driverCall(*device, "cuMemcpyHtoD",
                    [&](const DriverApi &api) { return api.cuMemcpyHtoD_v2(address(to), from, bytes); });
}

int fovea_download(fovea_device *device, void *to, const void *from, size_t bytes) {
  return driverCall(*device, "cuMemcpyDtoH",
                    [&](const DriverApi &api) { return api.cuMemcpyDtoH_v2(to, address(from), bytes); });
}

int fovea_module_load(fovea_device *device, const char *manifest_path, fovea_module **module) {
  return give(Module::load(device->device, std::string(manifest_path ? manifest_path : "")), module);
}
void fovea_module_free(fovea_module *module) { delete module; }

int fovea_launch(fovea_module *module, const char *operation, const fovea_tensor *tensors, int32_t count,
                 void *stream) {
  Expected<std::vector<Tensor>> converted = convert(tensors, count);
  if (!converted)
    return fail(converted.error());
  return report(
      module->module.launch(operation, *converted, Stream::borrow(module->module.device(), stream)));
}

int fovea_prepare(fovea_module *module, const char *operation, const fovea_tensor *tensors, int32_t count,
                  fovea_prepared **prepared) {
  *prepared = nullptr;
  Expected<std::vector<Tensor>> converted = convert(tensors, count);
  if (!converted)
    return fail(converted.error());
  return give(module->module.prepare(operation, *converted), prepared, module->module.device());
}

int fovea_prepared_launch(fovea_prepared *prepared, void *stream) {
  return report(prepared->launch.launch(Stream::borrow(prepared->device, stream)));
}
void fovea_prepared_free(fovea_prepared *prepared) { delete prepared; }

} // extern "C"

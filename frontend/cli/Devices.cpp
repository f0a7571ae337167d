// frontend/cli/Devices.cpp - `fovea devices`: what kernels can run on here, and why not on more.
#include "frontend/cli/Commands.h"
#include "frontend/cli/Session.h"

#include <llvm/Support/JSON.h>

namespace fovea::cli {

int devicesCommand(bool json) {
  DeviceList list = listDevices();
  if (json) {
    llvm::json::Array devices, notes;
    for (const Device &device : list.devices) {
      const DeviceFacts &f = device.facts();
      devices.push_back(llvm::json::Object{
          {"device", device.spec()},
          {"name", f.name},
          {"compute", std::to_string(f.computeMajor) + "." + std::to_string(f.computeMinor)},
          {"sms", f.sms},
          {"memory_bytes", int64_t(f.memory)},
          {"target", f.target ? llvm::json::Value(std::string(f.target->name)) : llvm::json::Value(nullptr)}});
    }
    for (const std::string &note : list.notes)
      notes.push_back(note);
    llvm::outs() << llvm::formatv("{0:2}\n", llvm::json::Value(llvm::json::Object{{"devices", std::move(devices)},
                                                                                 {"notes", std::move(notes)}}));
  } else {
    for (const Device &device : list.devices)
      llvm::outs() << device.description() << "\n";
    for (const std::string &note : list.notes)
      llvm::outs() << "note: " << note << "\n";
  }
  return list.devices.empty() ? kFailure : kSuccess;
}

} // namespace fovea::cli

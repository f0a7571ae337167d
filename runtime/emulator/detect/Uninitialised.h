// runtime/emulator/detect/Uninitialised.h - does an output depend on a value that nothing wrote?
#pragma once
#include "runtime/emulator/detect/Races.h"
#include "runtime/emulator/machine/Program.h"

namespace fovea::emulator {

/// Runs the kernel under `races` and, when it ends without an error, once more with other garbage in registers, shared,
/// tensor and unwritten global memory. A byte of global memory that comes out differently depends on something that was
/// never set: an error, "uninitialised: …", which names the buffer and the reads of unwritten shared or tensor memory
/// that may be the cause. A third run, with the first garbage again, clears kernels whose results change from run to run
/// by themselves. Padding that is read and masked is no finding. Global memory holds the first run's results.
///
/// Device memory is copied three times meanwhile; above 8 GiB in use the second run is left out.
Report runAndCheckInputs(Program &program, const Code &code, LaunchConfig config, AddressSpace &memory, RaceDetector &races);

} // namespace fovea::emulator

// test/unit/runtime/StubDriver.cpp - a driver library that loads but does nothing: its version is
// STUB_DRIVER_VERSION, cuInit answers STUB_DRIVER_INIT, the rest "not supported".
#include "runtime/driver/DriverApi.h"

#include <cstdlib>
#include <string_view>

static int fromEnvironment(const char *name, int fallback) {
  const char *value = std::getenv(name);
  return value ? std::atoi(value) : fallback;
}

static int answer(std::string_view symbol, void *firstArgument) {
  if (symbol == "cuInit")
    return fromEnvironment("STUB_DRIVER_INIT", 0);
  if (symbol != "cuDriverGetVersion")
    return fovea::cu::CUDA_ERROR_NOT_SUPPORTED;
  *static_cast<int *>(firstArgument) = fromEnvironment("STUB_DRIVER_VERSION", 13000);
  return 0;
}

// The loader sees only the name; of the parameters, cuDriverGetVersion reads its first, the others none.
#define STUB(SYMBOL, SINCE)                                                                                  \
  extern "C" FOVEA_CU_API int stub_##SYMBOL(void *) __asm__(#SYMBOL);                                        \
  int stub_##SYMBOL(void *first) { return answer(#SYMBOL, first); }
FOVEA_DRIVER_FUNCTIONS(STUB)

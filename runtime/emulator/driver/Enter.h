// runtime/emulator/driver/Enter.h - what nearly every entry point begins with.
#pragma once
#define ENTER(NEEDS_CONTEXT)                                                                                           \
  Call call(NEEDS_CONTEXT);                                                                                            \
  if (call.bad != CUDA_SUCCESS)                                                                                        \
    return call.bad;
#define NEED(P)                                                                                                        \
  if (!(P))                                                                                                            \
    return CUDA_ERROR_INVALID_VALUE;

/* runtime/core/fovea.h - the C interface of libfovea_runtime.so, for C, Python's ctypes and other languages.
 *
 * Functions return 0 on success, 1 when something was refused (bad arguments, files, devices), 2 when a driver
 * call failed; fovea_error() then holds the message. Handles may be used from any thread, one call at a time.
 * Device memory may come from fovea_alloc or from elsewhere (a torch tensor's data_ptr()).
 */
#ifndef FOVEA_H
#define FOVEA_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FOVEA_API __attribute__((visibility("default")))

typedef struct fovea_device fovea_device;
typedef struct fovea_module fovea_module;
typedef struct fovea_prepared fovea_prepared;

typedef struct {
  const char *name;       /* as in the spec: "q" */
  void *data;             /* device address of element (0, 0, ...) */
  const char *dtype;      /* "bf16", "f16", "f32", "i32", "i64", ... */
  int32_t rank;
  const int64_t *shape;   /* rank extents */
  const int64_t *strides; /* rank strides in elements; NULL: contiguous */
} fovea_tensor;

/* The message of this thread's last failure; "" before the first one. Valid until the thread's next failure. */
FOVEA_API const char *fovea_error(void);
FOVEA_API const char *fovea_version(void);

/* spec: "cuda:0", "emulator", "emulator:sm_90a". */
FOVEA_API int fovea_open(const char *spec, fovea_device **device);
FOVEA_API void fovea_close(fovea_device *device);
FOVEA_API int fovea_synchronize(fovea_device *device);

FOVEA_API int fovea_alloc(fovea_device *device, size_t bytes, void **data);
FOVEA_API int fovea_free(fovea_device *device, void *data);
FOVEA_API int fovea_upload(fovea_device *device, void *to, const void *from, size_t bytes);
FOVEA_API int fovea_download(fovea_device *device, void *to, const void *from, size_t bytes);

/* manifest_path: the .json that `fovea compile` wrote; the PTX lies beside it. */
FOVEA_API int fovea_module_load(fovea_device *device, const char *manifest_path, fovea_module **module);
FOVEA_API void fovea_module_free(fovea_module *module);

/* operation: "forward", "backward". stream: a CUstream, or NULL for the default stream. Asynchronous, except that a table
   with a row per position which is shorter than all rows together makes the check read the offsets back first (prepare). */
FOVEA_API int fovea_launch(fovea_module *module, const char *operation, const fovea_tensor *tensors, int32_t count,
                           void *stream);

/* Checks and packs once; fovea_prepared_launch then costs little more than cuLaunchKernel. */
FOVEA_API int fovea_prepare(fovea_module *module, const char *operation, const fovea_tensor *tensors, int32_t count,
                            fovea_prepared **prepared);
FOVEA_API int fovea_prepared_launch(fovea_prepared *prepared, void *stream);
FOVEA_API void fovea_prepared_free(fovea_prepared *prepared);

#ifdef __cplusplus
}
#endif

#endif /* FOVEA_H */

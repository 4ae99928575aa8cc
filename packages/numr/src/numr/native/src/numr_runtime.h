/* What libnumr lends to other native libraries: its thread pool and scratch memory, through one versioned struct.
   A library receives the pointer when it is bound, checks `abi`, and runs serially if it does not know that number. */
#ifndef NUMR_RUNTIME_H
#define NUMR_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define NUMR_EXPORT __attribute__((visibility("default")))
#else
#define NUMR_EXPORT
#endif

#define NUMR_RUNTIME_ABI 1
#define NUMR_SCRATCH_SLOTS 8

typedef struct numr_runtime {
  uint32_t abi;  /* NUMR_RUNTIME_ABI */
  uint32_t size; /* sizeof(numr_runtime) as libnumr was compiled; later versions only append */

  /* Runs body(ctx, lo, hi) over disjoint ranges that cover [0, n), about `grain` items each, and returns when all are
     done. A range may be any size: one call over [0, n) where the pool is busy, nested or has one thread. Subnormals
     are flushed to zero while bodies run. Bodies may run on other threads and must not raise or longjmp. */
  void (*parallel_for)(int64_t n, int64_t grain, void (*body)(void *ctx, int64_t lo, int64_t hi), void *ctx);

  /* How many threads a job may use, the caller's included. */
  int (*threads)(void);

  /* Memory of the calling thread, 64-byte aligned, at least `bytes` long; NULL when there is none. It lasts until the
     same thread asks for the same slot again; contents survive only while the size does not grow. Slots 0..7. */
  void *(*scratch)(size_t slot, size_t bytes);
} numr_runtime;

NUMR_EXPORT const numr_runtime *numr_runtime_get(void);

#endif

/* Binding to libnumr. Until it is bound, or where its struct is of another version, everything runs serially. */
#include "runtime.h"

#include <stdlib.h>

static void serial_for(int64_t n, int64_t grain, void (*body)(void *, int64_t, int64_t), void *ctx) {
  (void)grain;
  if (n > 0) body(ctx, 0, n);
}

static int one_thread(void) { return 1; }

/* Kept until the process ends: only reached without libnumr. */
static void *own_scratch(size_t slot, size_t bytes) {
  static _Thread_local struct { void *data; size_t bytes; } slots[NUMR_SCRATCH_SLOTS];
  if (slot >= NUMR_SCRATCH_SLOTS) return NULL;
  if (slots[slot].data && slots[slot].bytes >= bytes) return slots[slot].data;
  free(slots[slot].data);
  slots[slot].bytes = bytes;
  if (posix_memalign(&slots[slot].data, 64, bytes ? bytes : 64)) slots[slot].data = NULL;
  return slots[slot].data;
}

static const numr_runtime serial = {
    .abi = NUMR_RUNTIME_ABI,
    .size = sizeof(numr_runtime),
    .parallel_for = serial_for,
    .threads = one_thread,
    .scratch = own_scratch,
};
static const numr_runtime *bound = &serial;

const numr_runtime *runtime(void) { return bound; }

/* 0: bound. 1: another version, this library stays serial. */
NUMR_EXPORT int boostr_bind(const numr_runtime *lent) {
  if (!lent || lent->abi != NUMR_RUNTIME_ABI || lent->size < sizeof(numr_runtime)) return 1;
  bound = lent;
  return 0;
}

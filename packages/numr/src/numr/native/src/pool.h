/* The thread pool and scratch memory, as libnumr's own units call them. */
#ifndef NUMR_POOL_H
#define NUMR_POOL_H

#include "numr_runtime.h"

typedef void (*numr_body)(void *ctx, int64_t lo, int64_t hi);

void numr_parallel_for(int64_t n, int64_t grain, numr_body body, void *ctx);
void *numr_scratch(size_t slot, size_t bytes);

NUMR_EXPORT int numr_threads(void);
NUMR_EXPORT void numr_set_threads(int n);

#endif

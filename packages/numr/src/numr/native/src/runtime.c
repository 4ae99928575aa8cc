/* The struct handed to other libraries, and scratch memory that belongs to the thread that asked for it. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>

#include "pool.h"

typedef struct {
  void *data;
  size_t bytes;
} block;

static _Thread_local block slots[NUMR_SCRATCH_SLOTS];
static _Thread_local int watched;
static pthread_key_t at_exit;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int have_key;

static void release(void *mine) {
  block *b = mine;
  for (int i = 0; i < NUMR_SCRATCH_SLOTS; i++) {
    free(b[i].data);
    b[i] = (block){NULL, 0};
  }
}

static void make_key(void) { have_key = pthread_key_create(&at_exit, release) == 0; }

void *numr_scratch(size_t slot, size_t bytes) {
  if (slot >= NUMR_SCRATCH_SLOTS) return NULL;
  block *b = &slots[slot];
  if (b->data && b->bytes >= bytes) return b->data;
  if (!watched) { /* threads of a server come and go: give the memory back when one ends */
    pthread_once(&once, make_key);
    watched = have_key && pthread_setspecific(at_exit, slots) == 0;
  }
  free(b->data);
  *b = (block){NULL, 0};
  size_t rounded = (bytes + 4095) & ~(size_t)4095;
  if (rounded < bytes || posix_memalign(&b->data, 64, rounded ? rounded : 64)) {
    b->data = NULL;
    return NULL;
  }
  b->bytes = rounded;
  return b->data;
}

const numr_runtime *numr_runtime_get(void) {
  static const numr_runtime runtime = {
      .abi = NUMR_RUNTIME_ABI,
      .size = sizeof(numr_runtime),
      .parallel_for = numr_parallel_for,
      .threads = numr_threads,
      .scratch = numr_scratch,
  };
  return &runtime;
}

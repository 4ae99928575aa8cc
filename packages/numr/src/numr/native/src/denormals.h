/* Flush subnormals to zero in the calling thread, and restore what was: arithmetic on them costs about 25 times more. */
#ifndef NUMR_DENORMALS_H
#define NUMR_DENORMALS_H

#include <stdint.h>

typedef uint64_t denormals_mode;

#if defined(__SSE__)
#include <xmmintrin.h>
#define FLUSH_AND_ZERO 0x8040u /* MXCSR: FTZ, DAZ */

static inline denormals_mode denormals_off(void) {
  unsigned mode = _mm_getcsr();
  if ((mode & FLUSH_AND_ZERO) != FLUSH_AND_ZERO) _mm_setcsr(mode | FLUSH_AND_ZERO);
  return mode;
}

static inline void denormals_restore(denormals_mode mode) {
  if ((mode & FLUSH_AND_ZERO) != FLUSH_AND_ZERO) _mm_setcsr((unsigned)mode);
}
#elif defined(__aarch64__)
static inline denormals_mode denormals_off(void) {
  uint64_t mode;
  __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
  __asm__ volatile("msr fpcr, %0" : : "r"(mode | (UINT64_C(1) << 24))); /* FZ */
  return mode;
}

static inline void denormals_restore(denormals_mode mode) { __asm__ volatile("msr fpcr, %0" : : "r"(mode)); }
#else
static inline denormals_mode denormals_off(void) { return 0; }
static inline void denormals_restore(denormals_mode mode) { (void)mode; }
#endif

#endif

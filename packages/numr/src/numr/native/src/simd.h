/* Vectors of VW floats under one set of names, so that each operation's text stands once for all CPU levels.

   vf              a vector of VW float32 lanes
   vf_load_n       the first n lanes (1 <= n <= VW), the others zero; vf_store_n writes only those
   vf_fma(a,b,c)   a * b + c;  vf_fnma: c - a * b (rounded once where the machine can)
   vf_max(a,b)     b where either is NaN; vf_min likewise
   vf_below(a,b,x,y)  x where a < b, else y (NaN: y)
   vf_scale2(p,k)  p * 2^k for integral k in [-160, 160]: overflows to infinity, keeps NaN
   vf_sum4         the four sums of four vectors, written to out[0..3]; vf_sum adds in the same order, so that a sum
                   has the same bits alone and in company
   vh_*            the same on IEEE half floats in memory; stores round to nearest even

   MQ x KQ is the shape of a register tile: how many query vectors by how many keys fit the register file. */
#ifndef NUMR_SIMD_H
#define NUMR_SIMD_H

#include <stdint.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline, unused))

#if !defined(NUMR_PLAIN) && defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__) && defined(__AVX512DQ__)
#include "simd_avx512.h"
#elif !defined(NUMR_PLAIN) && defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)
#include "simd_avx2.h"
#elif !defined(NUMR_PLAIN) && defined(__aarch64__) && defined(__ARM_NEON)
#include "simd_neon.h"
#else
#include "simd_plain.h"
#endif

#define PREFETCH(p) __builtin_prefetch(p)

#endif

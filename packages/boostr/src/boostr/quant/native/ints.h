/* Byte and integer vectors beside numr's float vectors (simd.h, VW floats): the dozen operations the products need.

   vb, vs          VB = 4 * VW bytes; VW sums of 32 bits. LANES = VB / 16 runs of 16 bytes.
   vb_load16       LANES runs of 16 bytes, `stride` apart; runs from n on repeat the last one (nothing beyond is read)
   vb_low, vb_high the nibbles of every byte
   vs_dot_u7       sum += groups of four u * a, for u in 0..128 and a in -127..127
   vs_dot_s8       the same for any signed w, if sum began as vs_begin_s8(correction of these activations)
   vf_spread(s,k)  lanes k * LANES .. of s, each four times: one scale for each run of 16 bytes
   vh_gather2      VW pairs of halves `stride` bytes apart, those from n on zero
   vb_bits16       LANES runs as vb_load16: 16 where bit i of the 16-bit word there is set, else 0
   vs_dot_scaled   sum += scale * (u * a) with one scale per 16 products, from scales_pick8/16(s, j) for vector j;
                   vs_dot_scaled_s8 for signed w
   scales_s8x8/16  eight (for runs of 32) or sixteen scales from signed bytes; scale_t is what pick makes of them
   vw              VB / 2 words of 16 bits: vw_even and vw_odd of the bytes of a vector
   vw_even_scaled  the same times a scale of each run, picked from scales_for_even(s); vw_odd_scaled from scales_for_odd
   vs_dot16        sum += groups of two w * a
   vf_s8(lo,hi,i)  vector i of the floats that sixteen signed bytes are
   vk_nibbles(q,j) vector j of the 256 values of a Q4_K block; vk_six(low, high, j) of a Q6_K block
   vk_two(q,j)     vector j of two-bit planes; vk_bit(q, j, to) of a one-bit plane, the bit moved to bit `to`
   vb_lookup16     entry v (0..15) of a table for every byte
   vb_points8(grid, low, high, each) VB / 8 points of 8 bytes: index k is byte k of low, with field k of `each` bits of
                   high above; vb_points4: VB / 4 points of 4 bytes, bytes at low and a bit each; vb_points9: words of 9
                   bits of index and 7 more, which top_sevens gives a byte each
   vb_signed(v, signs, bias) bias + v, or bias - v where the bit is set; vb_raised: v + 2 in the runs of 8 whose bit is
   vk_nibbles16(q,j) vector j of runs of 16 low nibbles, then the 16 high ones
   vk_trits        vector j of a TQ1_0 block: TRIT times the digits
   vf_powers       2^(e - 128) for VW bytes e `stride` apart, those from n on zero
   vk_minima       eight minima times eight 16-bit sums, spread over lanes of floats
   vs_offset16     -32 * sixteen scales times sixteen 16-bit sums, spread over lanes */
#ifndef BOOSTR_INTS_H
#define BOOSTR_INTS_H

#include "simd.h"

#define VB (4 * VW)
#define LANES (VW / 4)
#define VECTORS (256 / VB) /* vectors in a block of 256 bytes */

#if !defined(NUMR_PLAIN) && defined(__AVX512BW__) && VW == 16
#include "ints_avx512.h"
#elif !defined(NUMR_PLAIN) && defined(__AVX2__) && VW == 8
#include "ints_avx2.h"
#elif !defined(NUMR_PLAIN) && defined(__aarch64__) && defined(__ARM_FEATURE_DOTPROD)
#include "ints_neon.h"
#else
#include "ints_plain.h"
#endif

/* How many tokens share a decoded weight, and unrolling over the vectors of a block: both follow the registers. */
#if VW > 4 || defined(__aarch64__)
#define TOKENS 8
#define UNROLL _Pragma("GCC unroll 16")
#else
#define TOKENS 4
#define UNROLL
#endif

#if !defined(UNSIGNED_DOT)
#define UNSIGNED_DOT 0 /* 1: vs_dot_s8 adds 128 to w, which vs_begin_s8 takes back */
#endif

#endif

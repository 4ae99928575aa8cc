/* Elements and scales of the IQ and TQ types with 256-element blocks; decode.h says what is asked of them.

   Signed points are kept unsigned, bias + point or bias - point: the minimum of a run takes the bias back. */
#ifndef BOOSTR_DECODE_IQ_H
#define BOOSTR_DECODE_IQ_H

#include "blocks_iq.h"
#include "decode_k.h"
#include "grids.h"

#define POINTS (VB / 8) /* points of 8 elements in a vector: 8, 4 or 2 */
enum { BIAS_IQ2 = 43, BIAS_IQ3_XXS = 62, BIAS_IQ3_S = 15, BIAS_IQ1 = 9 };
#define BYTES(x) (0x0101010101010101u * (x))

/* The `bytes` bytes at p as a number. */
INLINE uint64_t number_at(const void *p, const int bytes) {
  uint64_t number = 0;
  memcpy(&number, p, (size_t)bytes);
  return number;
}

/* The lowest `bits` of every `step` bits. */
INLINE uint64_t low_fields(const int bits, const int step) {
  uint64_t low = ((uint64_t)1 << bits) - 1;
  if (step <= 32) low |= low << 32;
  return step <= 16 ? low | low << 16 : low;
}

/* Eight fields of `each` bits as the bytes of the result. */
INLINE uint64_t spread(uint64_t bits, const int each) {
#if defined(__BMI2__) && VW == 16 /* as fast on every processor with AVX-512, but not on all with AVX2 */
  return _pdep_u64(bits, BYTES((1u << each) - 1));
#else
  bits = (bits & low_fields(4 * each, 64)) | (bits >> 4 * each & low_fields(4 * each, 64)) << 32;
  bits = (bits & low_fields(2 * each, 32)) | (bits >> 2 * each & low_fields(2 * each, 32)) << 16;
  return (bits & low_fields(each, 16)) | (bits >> each & low_fields(each, 16)) << 8;
#endif
}

/* Seven sign bits a byte, completed by the eighth. */
INLINE uint64_t even_signs(uint64_t sevens) {
  uint64_t parity = sevens ^ sevens >> 4;
  parity ^= parity >> 2;
  parity ^= parity >> 1;
  return sevens | (parity & BYTES(1)) << 7;
}

/* Signs of vector j from 32-bit tails, one for 32 elements, `step` bytes apart. */
INLINE uint64_t tail_signs(const uint8_t *p, int step, int j) {
  uint64_t bits;
  if (VB == 64) {
    p += 2 * j * step;
    bits = (number_at(p, 4) & 0xfffffff) | (number_at(p + step, 4) & 0xfffffff) << 28;
  } else if (VB == 32) {
    bits = number_at(p + j * step, 4) & 0xfffffff;
  } else {
    bits = number_at(p + j / 2 * step, 4) >> 14 * (j % 2) & 0x3fff;
  }
  return even_signs(spread(bits, 7));
}

/* The top four bits of eight such tails, a byte each. */
INLINE uint64_t tail_scales(const uint8_t *p, const int step) {
#if VW == 16
  if (step == 4) return (uint64_t)_mm_cvtsi128_si64(_mm256_cvtepi32_epi8(_mm256_srli_epi32(ymm_load(p), 28)));
  return (uint64_t)_mm_cvtsi128_si64(_mm512_cvtepi64_epi8(_mm512_srli_epi64(vb_load(p - 4), 60))); /* after 4 bytes more */
#else
  uint64_t scales = 0;
  for (int i = 0; i < 8; i++) scales |= (uint64_t)(p[i * step + 3] >> 4) << 8 * i;
  return scales;
#endif
}

/* Scales 2 s + 1 of runs of 32 or of 16, whose minima take back a bias. */
INLINE runs256 odd_scales8(uint64_t s, float d, int bias) {
  return (runs256){.scale = {2 * s + BYTES(1)}, .minimum = {2 * s + BYTES(1)}, .d = d, .low = (float)-bias * d};
}
INLINE runs256 odd_scales16(uint64_t first, uint64_t last, float d, int bias) {
  runs256 r = odd_scales8(first, d, bias);
  r.scale[1] = r.minimum[1] = 2 * last + BYTES(1);
  return r;
}

/* ---- IQ2 ---- */

INLINE runs256 scales_of_iq2_xxs(const iq2_xxs *w) {
  return odd_scales8(tail_scales((const uint8_t *)&w->pairs[0].tail, sizeof(pair_xxs)), half(w->d) / 8, BIAS_IQ2);
}
INLINE vb elements_of_iq2_xxs(const iq2_xxs *w, int j) {
  const uint8_t *p = (const uint8_t *)w->pairs;
  uint64_t index = VB == 64   ? number_at(p + 16 * j, 4) | number_at(p + 16 * j + 8, 4) << 32
                   : VB == 32 ? number_at(p + 8 * j, 4)
                              : number_at(p + 8 * (j / 2) + 2 * (j % 2), 2);
  return vb_signed(vb_points8(grid_iq2_xxs, index, 0, 0), tail_signs(p + 4, sizeof(pair_xxs), j), BIAS_IQ2);
}

INLINE runs256 scales_of_iq2_xs(const iq2_xs *w) {
  return odd_scales16(spread(number_at(w->scales, 4), 4), spread(number_at(w->scales + 4, 4), 4), half(w->d) / 8, BIAS_IQ2);
}
INLINE vb elements_of_iq2_xs(const iq2_xs *w, int j) {
  const uint8_t *codes = (const uint8_t *)w->codes + 2 * POINTS * j;
  return vb_signed(vb_points9(grid_iq2_xs, codes), even_signs(top_sevens(codes)), BIAS_IQ2);
}

INLINE runs256 scales_of_iq2_s(const iq2_s *w) {
  return odd_scales16(spread(number_at(w->scales, 4), 4), spread(number_at(w->scales + 4, 4), 4), half(w->d) / 8, BIAS_IQ2);
}
INLINE vb elements_of_iq2_s(const iq2_s *w, int j) {
  uint64_t high = VB == 16 ? (uint64_t)w->high[j / 2] >> 4 * (j % 2) : number_at(w->high + POINTS / 4 * j, VB / 32);
  vb points = vb_points8(grid_iq2_s, number_at(w->low + POINTS * j, POINTS), high, 2);
  return vb_signed(points, number_at(w->signs + POINTS * j, POINTS), BIAS_IQ2);
}

/* ---- IQ3 ---- */

INLINE runs256 scales_of_iq3_xxs(const iq3_xxs *w) {
  return odd_scales8(tail_scales((const uint8_t *)w->tails, 4), half(w->d) / 4, BIAS_IQ3_XXS);
}
INLINE vb elements_of_iq3_xxs(const iq3_xxs *w, int j) {
  vb points = vb_points4(grid_iq3_xxs, w->index + 2 * POINTS * j, 0);
  return vb_signed(points, tail_signs((const uint8_t *)w->tails, 4, j), BIAS_IQ3_XXS);
}

INLINE runs256 scales_of_iq3_s(const iq3_s *w) {
  return odd_scales8(spread(number_at(w->scales, 4), 4), half(w->d), BIAS_IQ3_S);
}
INLINE vb elements_of_iq3_s(const iq3_s *w, int j) {
  uint64_t high = VB == 16 ? (uint64_t)w->high[j / 2] >> 4 * (j % 2) : number_at(w->high + POINTS / 4 * j, VB / 32);
  vb points = vb_points4(grid_iq3_s, w->low + 2 * POINTS * j, high);
  return vb_signed(points, number_at(w->signs + POINTS * j, POINTS), BIAS_IQ3_S);
}

/* ---- IQ1: points 0, 8, 16, raised by 2 where 1/8 is added; less 9 that is eight times the weight ---- */

INLINE runs256 scales_of_iq1_s(const iq1_s *w) {
  uint64_t first = number_at(w->tails, 8) >> 12 & 0x0007000700070007u;
  uint64_t last = number_at(w->tails + 4, 8) >> 12 & 0x0007000700070007u;
  first = (first | first >> 8) & 0x0000ffff0000ffffu, last = (last | last >> 8) & 0x0000ffff0000ffffu;
  first = (first | first >> 16) & 0xffffffffu, last = (last | last >> 16) & 0xffffffffu;
  return odd_scales8(first | last << 32, half(w->d) / 8, BIAS_IQ1);
}
INLINE vb elements_of_iq1_s(const iq1_s *w, int j) {
  uint64_t high, lowered;
  if (VB == 64) {
    uint64_t both = number_at(w->tails + 2 * j, 4);
    high = (both & 0xfff) | (both >> 4 & 0xfff000);
    lowered = (both >> 15 & 1) * 0x0f | (both >> 31) * 0xf0;
  } else {
    uint64_t one = number_at(w->tails + j * VB / 32, 2);
    high = (one & 0xfff) >> (VB == 16 ? 6 * (j % 2) : 0);
    lowered = (one >> 15) * 0x0f;
  }
  return vb_raised(vb_points8(grid_iq1_s, number_at(w->low + POINTS * j, POINTS), high, 3), ~lowered);
}

INLINE float d_of_iq1_m(uint64_t words) {
  uint64_t tops = words >> 12 & 0x000f000f000f000fu;
  return half((half_t)(tops | tops >> 12 | tops >> 24 | tops >> 36));
}
INLINE runs256 scales_of_iq1_m(const iq1_m *w) {
  uint64_t words = number_at(w->scales, 8);
  uint64_t first = spread((words & 0xfff) | (words >> 4 & 0xfff000), 3);
  uint64_t last = spread((words >> 32 & 0xfff) | (words >> 36 & 0xfff000), 3);
  return odd_scales16(first, last, d_of_iq1_m(words) / 8, BIAS_IQ1);
}
INLINE vb elements_of_iq1_m(const iq1_m *w, int j) {
  uint64_t nibbles = number_at(w->high + POINTS / 2 * j, POINTS / 2);
  uint64_t lowered = (spread(nibbles >> 3 & 0x11111111u, 4) * 0x0102040810204080u) >> 56;
  return vb_raised(vb_points8(grid_iq1_s, number_at(w->low + POINTS * j, POINTS), nibbles & 0x77777777u, 4), ~lowered);
}

/* ---- IQ4_XS and the ternary types ---- */

INLINE runs256 scales_of_iq4_xs(const iq4_xs *w) {
  uint64_t six = spread(number_at(w->low, 4), 4) | spread(w->high, 2) << 4;
  return (runs256){.scale = {(six + BYTES(0x60)) ^ BYTES(0x80)}, .d = half(w->d)}; /* less 32 */
}
INLINE vb elements_of_iq4_xs(const iq4_xs *w, int j) { return vb_lookup16(iq4_values, vk_nibbles16(w->q, j)); }

INLINE vb elements_of_tq1_0(const tq1_0 *w, int j) { return vk_trits(w->q, w->r, (int)number_at(w->last, 4), j); }

/* Elements are `one` times 0, 1, 2. */
INLINE runs256 scales_of_ternary(float d, int one) {
  return (runs256){.scale = {BYTES(1)}, .minimum = {BYTES(1)}, .d = d / (float)one, .low = -d};
}

#endif

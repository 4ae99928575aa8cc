/* Dequantization of the IQ, TQ and FP4 types. Every product here is exact in float32, so no order of factors matters. */
#include "decode.h"
#include "dequantize.h"

/* Sixteen signed bytes times a scale. */
INLINE void widen16(float scale, const uint8_t *bytes, float *restrict out) {
  uint64_t each[2];
  memcpy(each, bytes, 16);
  for (int i = 0; i < 16 / VW; i++) vf_store(out + i * VW, vf_mul(vf_set1(scale), vf_s8(each[0], each[1], i)));
}

/* Scale times element less the bias of its type: what the minima of decode_iq.h come to. */
INLINE void widen256(const int type, const int bias, const uint8_t *restrict w, float *restrict out, int64_t n) {
  const traits256 of = traits256_of(type);
  for (int64_t b = 0; b < n / 256; b++, w += of.bytes) {
    uint8_t bytes[256];
    runs256 r = scales256(type, w);
    for (int j = 0; j < VECTORS; j++) {
      vb v = elements256(type, w, j);
      memcpy(bytes + VB * j, &v, VB);
    }
    for (int i = 0; i < 256; i++) bytes[i] = (uint8_t)(bytes[i] - bias); /* now signed whatever they were */
    for (int g = 0; g < 16; g++, out += 16) {
      int run = of.width == 32 ? g / 2 : g;
      float scale = r.d * (float)(int8_t)(r.scale[run / 8] >> 8 * (run % 8));
      widen16(scale, bytes + 16 * g, out);
    }
  }
}

#define DEFINE_WIDEN(name, type, bias) \
  void dequantize_##name(const void *restrict row, float *restrict out, int64_t n) { widen256(type, bias, row, out, n); }

DEFINE_WIDEN(iq1_s, IQ1_S, BIAS_IQ1)
DEFINE_WIDEN(iq1_m, IQ1_M, BIAS_IQ1)
DEFINE_WIDEN(iq2_xxs, IQ2_XXS, BIAS_IQ2)
DEFINE_WIDEN(iq2_xs, IQ2_XS, BIAS_IQ2)
DEFINE_WIDEN(iq2_s, IQ2_S, BIAS_IQ2)
DEFINE_WIDEN(iq3_xxs, IQ3_XXS, BIAS_IQ3_XXS)
DEFINE_WIDEN(iq3_s, IQ3_S, BIAS_IQ3_S)
DEFINE_WIDEN(iq4_xs, IQ4_XS, 0)
DEFINE_WIDEN(tq1_0, TQ1_0, TRIT)
DEFINE_WIDEN(tq2_0, TQ2_0, 1)

/* One block of 16 bytes of nibbles. */
INLINE void widen32(const int8_t values[16], float scale, const uint8_t *q, float *restrict out) {
  uint8_t bytes[2 * VB];
  vb first, last;
  looked_up_32(values, q, 0, 1, &first, &last);
  memcpy(bytes, &first, VB);
  memcpy(bytes + VB, &last, VB);
  widen16(scale, bytes, out);
  widen16(scale, bytes + VB, out + 16);
}

void dequantize_iq4_nl(const void *restrict row, float *restrict out, int64_t n) {
  const iq4_nl *restrict w = row;
  for (int64_t b = 0; b < n / 32; b++) widen32(iq4_values, half(w[b].d), w[b].q, out + 32 * b);
}

/* value * 2^(e - 128) for the values of FP4, put together from bits: subnormal results must not become zero where
   arithmetic is set to flush them. A value is m * 2^k with m = 1 or 1.5. */
static uint32_t fp4_bits(int value, uint8_t e) {
  int size = value < 0 ? -value : value, k = 31 - __builtin_clz((unsigned)size | 1), exponent = e - 128 + k;
  uint32_t sign = value < 0 ? 0x80000000u : 0, mantissa = size == 1 << k ? 2 : 3; /* in halves */
  if (!size) return 0;
  if (exponent >= -126) return sign | (uint32_t)(exponent + 127) << 23 | (mantissa & 1) << 22;
  return sign | mantissa << (exponent + 148);
}

void dequantize_mxfp4(const void *restrict row, float *restrict out, int64_t n) {
  static const int8_t values[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
  const mxfp4 *restrict w = row;
  for (int64_t b = 0; b < n / 32; b++, out += 32) {
    uint32_t bits = power_bits(w[b].e);
    float d;
    memcpy(&d, &bits, 4);
    if (w[b].e >= 2) {
      widen32(values, d, w[b].q, out);
      continue;
    }
    for (int i = 0; i < 32; i++) {
      bits = fp4_bits(values[w[b].q[i % 16] >> 4 * (i / 16) & 15], w[b].e);
      memcpy(out + i, &bits, 4);
    }
  }
}

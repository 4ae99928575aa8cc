/* Dequantization of whole rows: plain loops that compilers vectorise. Must be built without fused multiply-add
   (-ffp-contract=off): ggml and the NumPy reference round d * q before they add. */
#include "dequantize.h"

void dequantize_f32(const void *restrict row, float *restrict out, int64_t n) { memcpy(out, row, (size_t)n * 4); }

void dequantize_f16(const void *restrict row, float *restrict out, int64_t n) {
  const uint16_t *restrict w = row;
  int64_t i = 0;
  for (; i + VW <= n; i += VW) vf_store(out + i, vh_load(w + i));
  if (i < n) vf_store_n(out + i, vh_load_n(w + i, (int)(n - i)), (int)(n - i));
}

void dequantize_bf16(const void *restrict row, float *restrict out, int64_t n) {
  const uint16_t *restrict w = row;
  for (int64_t i = 0; i < n; i++) out[i] = bhalf(w[i]);
}

void dequantize_q4_0(const void *restrict row, float *restrict out, int64_t n) {
  const q4_0 *restrict w = row;
  for (int64_t b = 0; b < n / 32; b++, out += 32) {
    float d = half(w[b].d);
    for (int i = 0; i < 16; i++) out[i] = d * (float)((w[b].q[i] & 15) - 8);
    for (int i = 0; i < 16; i++) out[16 + i] = d * (float)((w[b].q[i] >> 4) - 8);
  }
}

void dequantize_q4_1(const void *restrict row, float *restrict out, int64_t n) {
  const q4_1 *restrict w = row;
  for (int64_t b = 0; b < n / 32; b++, out += 32) {
    float d = half(w[b].d), m = half(w[b].m);
    for (int i = 0; i < 16; i++) out[i] = d * (float)(w[b].q[i] & 15) + m;
    for (int i = 0; i < 16; i++) out[16 + i] = d * (float)(w[b].q[i] >> 4) + m;
  }
}

INLINE int fifth(const uint8_t high[4], int i) { return (high[i / 8] >> i % 8 & 1) << 4; }

void dequantize_q5_0(const void *restrict row, float *restrict out, int64_t n) {
  const q5_0 *restrict w = row;
  for (int64_t b = 0; b < n / 32; b++, out += 32) {
    float d = half(w[b].d);
    for (int i = 0; i < 16; i++) out[i] = d * (float)(((w[b].q[i] & 15) | fifth(w[b].high, i)) - 16);
    for (int i = 0; i < 16; i++) out[16 + i] = d * (float)((w[b].q[i] >> 4 | fifth(w[b].high, 16 + i)) - 16);
  }
}

void dequantize_q5_1(const void *restrict row, float *restrict out, int64_t n) {
  const q5_1 *restrict w = row;
  for (int64_t b = 0; b < n / 32; b++, out += 32) {
    float d = half(w[b].d), m = half(w[b].m);
    for (int i = 0; i < 16; i++) out[i] = d * (float)((w[b].q[i] & 15) | fifth(w[b].high, i)) + m;
    for (int i = 0; i < 16; i++) out[16 + i] = d * (float)(w[b].q[i] >> 4 | fifth(w[b].high, 16 + i)) + m;
  }
}

void dequantize_q8_0(const void *restrict row, float *restrict out, int64_t n) {
  const q8_0 *restrict w = row;
  for (int64_t b = 0; b < n / 32; b++, out += 32) {
    float d = half(w[b].d);
    for (int i = 0; i < 32; i++) out[i] = d * (float)w[b].q[i];
  }
}

void dequantize_q2_K(const void *restrict row, float *restrict out, int64_t n) {
  const q2_K *restrict w = row;
  for (int64_t b = 0; b < n / 256; b++) {
    float d = half(w[b].d), dmin = half(w[b].dmin);
    for (int g = 0; g < 16; g++, out += 16) { /* group g of 16: half g / 8, plane g / 2 % 4, first or last 16 bytes */
      const uint8_t *q = w[b].q + 32 * (g / 8) + 16 * (g % 2);
      int shift = 2 * (g / 2 % 4);
      float scale = d * (float)(w[b].scales[g] & 15), offset = dmin * (float)(w[b].scales[g] >> 4);
      for (int i = 0; i < 16; i++) out[i] = scale * (float)(q[i] >> shift & 3) - offset;
    }
  }
}

void dequantize_q3_K(const void *restrict row, float *restrict out, int64_t n) {
  const q3_K *restrict w = row;
  for (int64_t b = 0; b < n / 256; b++) {
    uint64_t scales[2];
    float d = half(w[b].d);
    q3_K_scales(w[b].scales, scales);
    for (int g = 0; g < 16; g++, out += 16) { /* as in q2_K; the third bit is bit g / 2 of its plane */
      const uint8_t *q = w[b].q + 32 * (g / 8) + 16 * (g % 2), *high = w[b].high + 16 * (g % 2);
      int shift = 2 * (g / 2 % 4), top = g / 2;
      float scale = d * (float)(int8_t)(scales[g / 8] >> 8 * (g % 8));
      for (int i = 0; i < 16; i++) out[i] = scale * (float)(((q[i] >> shift & 3) | (high[i] >> top & 1) << 2) - 4);
    }
  }
}

void dequantize_q4_K(const void *restrict row, float *restrict out, int64_t n) {
  const q4_K *restrict w = row;
  for (int64_t b = 0; b < n / 256; b++) {
    uint64_t scales, minima;
    float d = half(w[b].d), dmin = half(w[b].dmin);
    q4_K_scales(w[b].scales, &scales, &minima);
    for (int g = 0; g < 8; g++, out += 32) {
      float scale = d * (float)(scales >> 8 * g & 255), offset = dmin * (float)(minima >> 8 * g & 255);
      const uint8_t *q = w[b].q + 32 * (g / 2);
      if (g % 2 == 0)
        for (int i = 0; i < 32; i++) out[i] = scale * (float)(q[i] & 15) - offset;
      else
        for (int i = 0; i < 32; i++) out[i] = scale * (float)(q[i] >> 4) - offset;
    }
  }
}

void dequantize_q5_K(const void *restrict row, float *restrict out, int64_t n) {
  const q5_K *restrict w = row;
  for (int64_t b = 0; b < n / 256; b++) {
    uint64_t scales, minima;
    float d = half(w[b].d), dmin = half(w[b].dmin);
    q4_K_scales(w[b].scales, &scales, &minima);
    for (int g = 0; g < 8; g++, out += 32) {
      float scale = d * (float)(scales >> 8 * g & 255), offset = dmin * (float)(minima >> 8 * g & 255);
      const uint8_t *q = w[b].q + 32 * (g / 2), *high = w[b].high;
      int shift = 4 * (g % 2);
      for (int i = 0; i < 32; i++) out[i] = scale * (float)((q[i] >> shift & 15) | (high[i] >> g & 1) << 4) - offset;
    }
  }
}

void dequantize_q6_K(const void *restrict row, float *restrict out, int64_t n) {
  const q6_K *restrict w = row;
  for (int64_t b = 0; b < n / 256; b++) {
    float d = half(w[b].d);
    for (int g = 0; g < 16; g++, out += 16) { /* group g of 16: half g / 8, 32-group c, first or last 16 bytes */
      int c = g / 2 % 4, low_shift = 4 * (c / 2), high_shift = 2 * c;
      const uint8_t *low = w[b].low + 64 * (g / 8) + 32 * (c % 2) + 16 * (g % 2);
      const uint8_t *high = w[b].high + 32 * (g / 8) + 16 * (g % 2);
      float scale = d * (float)w[b].scales[g];
      for (int i = 0; i < 16; i++)
        out[i] = scale * (float)(((low[i] >> low_shift & 15) | (high[i] >> high_shift & 3) << 4) - 32);
    }
  }
}

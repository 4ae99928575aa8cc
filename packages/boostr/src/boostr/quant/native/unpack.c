/* Taking blocks apart, written once for all types over decode.h. Elements that decode.h gives with a bias, so that they
   are unsigned, lose it here: then only types with minima of their own have offsets. */
#include "unpack.h"

#include <stddef.h>

#include "decode.h"

INLINE void take_bias(int8_t *restrict q, int count, const int bias) {
  if (bias)
    for (int i = 0; i < count; i++) q[i] = (int8_t)(q[i] - bias);
}

INLINE void unpack32(const int type, const int bias, const int offsets, const uint8_t *from, int blocks,
                     int8_t *restrict q, float *restrict scale, float *restrict offset) {
  const int bytes = traits32_of(type).bytes;
  for (int b = 0; b < blocks; b += VW) {
    vf d, low;
    scales32(type, from + b * bytes, blocks - b < VW ? blocks - b : VW, &d, &low);
    vf_store_n(scale + b, d, blocks - b < VW ? blocks - b : VW);
    if (offsets) vf_store_n(offset + b, low, blocks - b < VW ? blocks - b : VW);
  }
  for (int b = 0; b < blocks; b += LANES) {
    int n = blocks - b < LANES ? blocks - b : LANES;
    vb both[2];
    elements32(type, from + b * bytes, n, both, both + 1);
    for (int lane = 0; lane < n; lane++)
      for (int half = 0; half < 2; half++)
        memcpy(q + 32 * (b + lane) + 16 * half, (const char *)(both + half) + 16 * lane, 16);
  }
  take_bias(q, 32 * blocks, bias);
}

INLINE void unpack256(const int type, const int bias, const int offsets, const uint8_t *from, int8_t *restrict q,
                      float *restrict scale, float *restrict offset) {
  const runs256 runs = scales256(type, from);
  for (int j = 0; j < VECTORS; j++) {
    vb v = elements256(type, from, j);
    memcpy(q + VB * j, &v, VB);
  }
  take_bias(q, 256, bias);
  for (int i = 0; i < 256 / traits256_of(type).width; i++) {
    scale[i] = runs.d * (float)(int8_t)(runs.scale[i / 8] >> 8 * (i % 8));
    if (offsets) offset[i] = runs.low * (float)(int8_t)(runs.minimum[i / 8] >> 8 * (i % 8));
  }
}

/* (name, type, bias of its elements, whether it has offsets) */
#define UNPACK(name, type, bias, offsets)                                                                        \
  static void unpack_##name(const uint8_t *from, int blocks, int8_t *restrict q, float *restrict scale,          \
                            float *restrict offset) {                                                            \
    if (block_of(type) == 32) unpack32(type, bias, offsets, from, blocks, q, scale, offset);                     \
    else unpack256(type, bias, offsets, from, q, scale, offset);                                                 \
  }
#define EACH_TYPE(of)                                                                                            \
  of(q4_0, Q4_0, 8, 0) of(q4_1, Q4_1, 0, 1) of(q5_0, Q5_0, 16, 0) of(q5_1, Q5_1, 0, 1) of(q8_0, Q8_0, 0, 0)      \
  of(q2_K, Q2_K, 0, 1) of(q3_K, Q3_K, 4, 0) of(q4_K, Q4_K, 0, 1) of(q5_K, Q5_K, 0, 1) of(q6_K, Q6_K, 32, 0)      \
  of(iq1_s, IQ1_S, BIAS_IQ1, 0) of(iq1_m, IQ1_M, BIAS_IQ1, 0) of(iq2_xxs, IQ2_XXS, BIAS_IQ2, 0)                  \
  of(iq2_xs, IQ2_XS, BIAS_IQ2, 0) of(iq2_s, IQ2_S, BIAS_IQ2, 0) of(iq3_xxs, IQ3_XXS, BIAS_IQ3_XXS, 0)            \
  of(iq3_s, IQ3_S, BIAS_IQ3_S, 0) of(iq4_nl, IQ4_NL, 0, 0) of(iq4_xs, IQ4_XS, 0, 0)                              \
  of(tq1_0, TQ1_0, TRIT, 0) of(tq2_0, TQ2_0, 1, 0) of(mxfp4, MXFP4, 12, 0)

EACH_TYPE(UNPACK)

#define ENTRY(name, type, bias, offsets)                                                                         \
  case type:                                                                                                     \
    return (unpacking){block_of(type), sizeof(name), block_of(type) == 32 ? 32 : traits256_of(type).width, offsets, \
                       unpack_##name};

unpacking unpacking_of(int64_t id) {
  switch (id) {
    EACH_TYPE(ENTRY)
    default: return (unpacking){.unpack = NULL};
  }
}

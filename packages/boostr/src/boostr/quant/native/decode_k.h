/* Scales of the K types; decode.h says what is asked of them. */
#ifndef BOOSTR_DECODE_K_H
#define BOOSTR_DECODE_K_H

#include "blocks.h"
#include "ints.h"

/* Scales and minima of the runs of a 256-element block as signed bytes, sixteen or, for runs of 32, eight of each. */
typedef struct { uint64_t scale[2], minimum[2]; float d, low; } runs256;

INLINE runs256 scales_of_q2_K(const q2_K *w) {
  runs256 r = {.d = half(w->d), .low = -half(w->dmin)};
  for (int i = 0; i < 2; i++) {
    uint64_t both = eight_bytes(w->scales + 8 * i);
    r.scale[i] = both & 0x0f0f0f0f0f0f0f0fu;
    r.minimum[i] = both >> 4 & 0x0f0f0f0f0f0f0f0fu;
  }
  return r;
}

INLINE runs256 scales_of_q3_K(const q3_K *w) {
  runs256 r = {.d = half(w->d), .low = -4 * half(w->d)};
  q3_K_scales(w->scales, r.scale);
  memcpy(r.minimum, r.scale, sizeof r.scale);
  return r;
}

INLINE runs256 scales_of_q4_K(const uint8_t *w) { /* of q5_K too: it begins alike */
  const q4_K *block = (const q4_K *)w;
  runs256 r = {.d = half(block->d), .low = -half(block->dmin)};
  q4_K_scales(block->scales, r.scale, r.minimum);
  return r;
}

INLINE runs256 scales_of_q6_K(const q6_K *w) {
  runs256 r = {.d = half(w->d), .low = -32 * half(w->d)};
  for (int i = 0; i < 2; i++) r.scale[i] = r.minimum[i] = eight_bytes(w->scales + 8 * i);
  return r;
}

#endif

/* Sixteen rows of weights at once, one per 32-bit lane: what the row-interleaved products need of a CPU.

   li, lf            sixteen int32, sixteen float32
   li_dot8(s, w, a)  s += the four int8 products of each lane: w holds four unsigned bytes a lane, a the same four signed
                     bytes of a token for all lanes
   li_dot16(s, w, a) two int16 products a lane, in the same way
   lanes_transpose   sixteen rows of 64 bytes -> sixteen vectors, vector k the k-th 32-bit word of every row */
#ifndef BOOSTR_LANES_H
#define BOOSTR_LANES_H

#include "simd.h"

#define ROWS 16

#if !defined(NUMR_PLAIN) && defined(__AVX512BW__)
typedef __m512i li;
typedef __m512 lf;
INLINE li li_all(int32_t x) { return _mm512_set1_epi32(x); }
INLINE lf lf_all(float x) { return _mm512_set1_ps(x); }
INLINE lf lf_load(const float *p) { return _mm512_loadu_ps(p); }
INLINE void lf_store(float *p, lf v) { _mm512_storeu_ps(p, v); }
INLINE lf lf_of(li v) { return _mm512_cvtepi32_ps(v); }
INLINE lf lf_mul(lf a, lf b) { return _mm512_mul_ps(a, b); }
INLINE lf lf_fma(lf a, lf b, lf c) { return _mm512_fmadd_ps(a, b, c); }
INLINE li li_load(const void *p) { return _mm512_loadu_si512(p); }
INLINE void li_store(void *p, li v) { _mm512_storeu_si512(p, v); }
INLINE li li_flip8(li v) { return _mm512_xor_si512(v, _mm512_set1_epi8(-128)); }
INLINE void li_widen8(li v, void *even, void *odd) { /* bytes 0, 1 and 2, 3 of every lane as int16 */
  const __m512i first = _mm512_set1_epi32(0x0000ffff);
  __m512i lows = _mm512_srai_epi16(_mm512_slli_epi16(v, 8), 8), highs = _mm512_srai_epi16(v, 8);
  __m512i a = _mm512_or_si512(_mm512_and_si512(lows, first), _mm512_slli_epi32(highs, 16));
  __m512i b = _mm512_or_si512(_mm512_srli_epi32(lows, 16), _mm512_andnot_si512(first, highs));
  li_store(even, a);
  li_store(odd, b);
}
#if defined(__AVX512VNNI__)
INLINE li li_dot8(li s, li w, li a) { return _mm512_dpbusd_epi32(s, w, a); }
INLINE li li_dot16(li s, li w, li a) { return _mm512_dpwssd_epi32(s, w, a); }
#else
INLINE li li_dot16(li s, li w, li a) { return _mm512_add_epi32(s, _mm512_madd_epi16(w, a)); }
INLINE li li_dot8(li s, li w, li a) {
  const __m512i low = _mm512_set1_epi16(255);
  s = li_dot16(s, _mm512_and_si512(w, low), _mm512_srai_epi16(_mm512_slli_epi16(a, 8), 8));
  return li_dot16(s, _mm512_srli_epi16(w, 8), _mm512_srai_epi16(a, 8));
}
#endif
INLINE void lanes_transpose(li *v) {
  li t[16], s[16];
  for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_unpacklo_epi32(v[i], v[i + 1]);
    t[i + 1] = _mm512_unpackhi_epi32(v[i], v[i + 1]);
  }
  for (int i = 0; i < 16; i += 4) { /* s[i + c]: word 4 l + c of rows i..i+3 in each 128-bit part l */
    s[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
    s[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
    s[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
    s[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
  }
  for (int c = 0; c < 4; c++) {
    li a = _mm512_shuffle_i32x4(s[c], s[4 + c], 0x88), b = _mm512_shuffle_i32x4(s[c], s[4 + c], 0xdd);
    li d = _mm512_shuffle_i32x4(s[8 + c], s[12 + c], 0x88), e = _mm512_shuffle_i32x4(s[8 + c], s[12 + c], 0xdd);
    v[c] = _mm512_shuffle_i32x4(a, d, 0x88);
    v[8 + c] = _mm512_shuffle_i32x4(a, d, 0xdd);
    v[4 + c] = _mm512_shuffle_i32x4(b, e, 0x88);
    v[12 + c] = _mm512_shuffle_i32x4(b, e, 0xdd);
  }
}
#else
#include "lanes_plain.h"
#endif

#endif

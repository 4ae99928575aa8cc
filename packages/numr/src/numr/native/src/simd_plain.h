/* 4 lanes in the compilers' own vector types: any processor. Included by simd.h, which says what the names mean. */
#define VW 4
#define MQ 2
#define KQ 4
#define DOTQ 2

typedef float vf __attribute__((vector_size(16)));
typedef int32_t vi __attribute__((vector_size(16)));
typedef uint32_t vu __attribute__((vector_size(16)));

INLINE vf vf_set1(float x) { return (vf){x, x, x, x}; }
INLINE vf vf_zero(void) { return (vf){0, 0, 0, 0}; }
INLINE vf vf_load(const float *p) {
  vf v;
  memcpy(&v, p, sizeof v);
  return v;
}
INLINE void vf_store(float *p, vf v) { memcpy(p, &v, sizeof v); }
INLINE vf vf_load_n(const float *p, int n) {
  vf v = vf_zero();
  memcpy(&v, p, (size_t)n * 4);
  return v;
}
INLINE void vf_store_n(float *p, vf v, int n) { memcpy(p, &v, (size_t)n * 4); }
INLINE vf vf_add(vf a, vf b) { return a + b; }
INLINE vf vf_sub(vf a, vf b) { return a - b; }
INLINE vf vf_mul(vf a, vf b) { return a * b; }
INLINE vf vf_div(vf a, vf b) { return a / b; }
INLINE vf vf_fma(vf a, vf b, vf c) { return a * b + c; }
INLINE vf vf_fnma(vf a, vf b, vf c) { return c - a * b; }
INLINE vf vf_pick(vi mask, vf x, vf y) { return (vf)((mask & (vi)x) | (~mask & (vi)y)); }
INLINE vf vf_below(vf a, vf b, vf x, vf y) { return vf_pick((vi)(a < b), x, y); }
INLINE vf vf_max(vf a, vf b) { return vf_pick((vi)(a > b), a, b); }
INLINE vf vf_min(vf a, vf b) { return vf_pick((vi)(a < b), a, b); }
INLINE vf vf_abs(vf a) { return (vf)((vi)a & INT32_MAX); }
INLINE vf vf_sign_of(vf magnitude, vf sign) { return (vf)((vi)magnitude | ((vi)sign & INT32_MIN)); }
INLINE vf vf_round(vf a) { return a + 12582912.f - 12582912.f; } /* |a| < 2^22: adding 1.5 * 2^23 drops the fraction */
INLINE vf vf_scale2(vf p, vf k) { /* in two steps, so that neither power leaves the range of float32 */
  vi whole = (vi)(vf_below(vf_abs(k), vf_set1(1024.f), k, vf_zero()) + 12582912.f) - 0x4b400000;
  vi half = whole >> 1;
  return p * (vf)((half + 127) << 23) * (vf)((whole - half + 127) << 23);
}
INLINE float vf_sum(vf a) { return (a[0] + a[2]) + (a[1] + a[3]); }
INLINE float vf_most(vf a) {
  float x = a[0] > a[1] ? a[0] : a[1], y = a[2] > a[3] ? a[2] : a[3];
  return x > y ? x : y;
}
INLINE void vf_sum4(vf a, vf b, vf c, vf d, float *out) {
  out[0] = vf_sum(a);
  out[1] = vf_sum(b);
  out[2] = vf_sum(c);
  out[3] = vf_sum(d);
}

/* No subnormal float32 appears on the way: they are flushed to zero while kernels run, but subnormal halves count. */
INLINE vf vh_widen(vu h) {
  vu sign = (h & 0x8000) << 16, magnitude = (h & 0x7fff) << 13;
  vf small = (vf)(magnitude + (113u << 23)) - (vf)((vu){0} + (113u << 23)); /* 2^-14 * (1 + m/1024) - 2^-14 */
  vu normal = magnitude + (112u << 23), special = magnitude | (255u << 23);
  vi is_small = (vi)(magnitude < (1u << 23)), is_special = (vi)(magnitude >= (31u << 23));
  vf value = vf_pick(is_special, (vf)special, vf_pick(is_small, small, (vf)normal));
  return (vf)((vu)value | sign);
}
INLINE vf vh_load(const uint16_t *p) { return vh_widen((vu){p[0], p[1], p[2], p[3]}); }
INLINE vf vh_load_n(const uint16_t *p, int n) {
  uint16_t some[VW] = {0};
  memcpy(some, p, (size_t)n * 2);
  return vh_load(some);
}
INLINE uint16_t vh_narrow(float x) {
  uint32_t u;
  memcpy(&u, &x, 4);
  uint32_t sign = (u >> 16) & 0x8000, a = u & 0x7fffffff;
  if (a > 0x7f800000) return (uint16_t)(sign | 0x7e00);     /* NaN */
  if (a >= 0x47800000) return (uint16_t)(sign | 0x7c00);    /* 65536 and up; 65520 .. 65535 round up below */
  if (a >= 0x38800000) return (uint16_t)(sign | ((a - 0x38000000 + 0xfff + ((a >> 13) & 1)) >> 13));
  if (a < 0x33000000) return (uint16_t)sign;                /* below half of the least subnormal */
  uint32_t shift = 126 - (a >> 23), m = (a & 0x7fffff) | 0x800000; /* result m >> shift, ties to even */
  uint32_t whole = m >> shift, rest = m & ((1u << shift) - 1), half = 1u << (shift - 1);
  return (uint16_t)(sign | (whole + (rest > half || (rest == half && (whole & 1)))));
}
INLINE void vh_store_n(uint16_t *p, vf v, int n) {
  for (int i = 0; i < n; i++) p[i] = vh_narrow(v[i]);
}
INLINE void vh_store(uint16_t *p, vf v) { vh_store_n(p, v, VW); }

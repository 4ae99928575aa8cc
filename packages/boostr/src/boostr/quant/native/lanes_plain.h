/* Sixteen lanes in plain C, which compilers turn into what the machine has. Included by lanes.h, which says what the names mean. */
typedef struct { int32_t v[16]; } li;
typedef struct { float v[16]; } lf;
#define EACH for (int i = 0; i < 16; i++)
INLINE li li_all(int32_t x) { li r; EACH r.v[i] = x; return r; }
INLINE lf lf_all(float x) { lf r; EACH r.v[i] = x; return r; }
INLINE lf lf_load(const float *p) { lf r; memcpy(&r, p, 64); return r; }
INLINE void lf_store(float *p, lf v) { memcpy(p, &v, 64); }
INLINE lf lf_of(li v) { lf r; EACH r.v[i] = (float)v.v[i]; return r; }
INLINE lf lf_mul(lf a, lf b) { lf r; EACH r.v[i] = a.v[i] * b.v[i]; return r; }
INLINE lf lf_fma(lf a, lf b, lf c) { lf r; EACH r.v[i] = a.v[i] * b.v[i] + c.v[i]; return r; }
INLINE li li_load(const void *p) { li r; memcpy(&r, p, 64); return r; }
INLINE void li_store(void *p, li v) { memcpy(p, &v, 64); }
INLINE li li_flip8(li v) { EACH v.v[i] ^= (int32_t)0x80808080; return v; }
INLINE void li_widen8(li v, void *even, void *odd) {
  int8_t b[64];
  int16_t pair[2][32];
  memcpy(b, &v, 64);
  for (int i = 0; i < 64; i++) pair[i % 4 / 2][i / 4 * 2 + i % 2] = b[i];
  memcpy(even, pair[0], 64);
  memcpy(odd, pair[1], 64);
}
INLINE li li_dot8(li s, li w, li a) {
  uint8_t u[64];
  int8_t b[64];
  memcpy(u, &w, 64);
  memcpy(b, &a, 64);
  EACH s.v[i] += u[4 * i] * b[4 * i] + u[4 * i + 1] * b[4 * i + 1] + u[4 * i + 2] * b[4 * i + 2] + u[4 * i + 3] * b[4 * i + 3];
  return s;
}
INLINE li li_dot16(li s, li w, li a) {
  int16_t u[32], b[32];
  memcpy(u, &w, 64);
  memcpy(b, &a, 64);
  EACH s.v[i] += u[2 * i] * b[2 * i] + u[2 * i + 1] * b[2 * i + 1];
  return s;
}
INLINE void lanes_transpose(li *v) {
  li t[16];
  for (int k = 0; k < 16; k++) EACH t[k].v[i] = v[i].v[k];
  memcpy(v, t, sizeof t);
}
#undef EACH

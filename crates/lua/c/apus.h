/*
** Functions that the changes to Lua's sources call (build.rs lists these changes).
*/
#ifndef apus_h
#define apus_h

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "lua.h"

/* Set once per process, before the first state is made. */
extern uint64_t apus_seed[3];

/*
** Work of C code is counted as instructions are, so that the instruction hook comes after so much of
** either. `apus_charge` only counts: the hook comes before the next instruction. `apus_spend` calls the
** hook itself when it is due, which may raise an error: only for functions that may raise errors.
*/
void apus_charge (lua_State *L, size_t n);
void apus_spend (lua_State *L, size_t n);
/* Counts, and says whether the hook is due. */
int apus_due (lua_State *L, size_t n);

/* Counts bytes that are hashed, copied or compared; few cost no more than an instruction. */
#define apus_bytes(L, n) ((n) < 1024 ? (void)0 : apus_charge((L), (n) >> 5))

static inline uint64_t apus_mix (uint64_t a, uint64_t b) {
  unsigned __int128 product = (unsigned __int128)a * b;
  return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t apus_read (const char *from, size_t n) {
  uint64_t word = 0;
  memcpy(&word, from, n);
  return word;
}

/*
** A keyed hash of all bytes: a client that does not know the seed cannot prepare strings that collide.
** Sixteen bytes at a time, the last ones overlapping those before; shorter strings as two words.
*/
static inline unsigned int apus_hash (const char *s, size_t n) {
  uint64_t h = apus_seed[0] ^ n;
  uint64_t a, b;
  if (n > 16) {
    size_t left = n;
    for (; left > 16; left -= 16, s += 16)
      h = apus_mix(apus_read(s, 8) ^ apus_seed[1], apus_read(s + 8, 8) ^ h);
    s -= 16 - left;
    a = apus_read(s, 8);
    b = apus_read(s + 8, 8);
  }
  else if (n >= 8) {
    a = apus_read(s, 8);
    b = apus_read(s + n - 8, 8);
  }
  else if (n >= 4) {
    a = apus_read(s, 4);
    b = apus_read(s + n - 4, 4);
  }
  else {
    a = n > 0 ? (unsigned char)s[0] : 0;
    b = n > 0 ? (uint64_t)(unsigned char)s[n >> 1] << 8 | (unsigned char)s[n - 1] : 0;
  }
  h = apus_mix(a ^ apus_seed[1], b ^ h);
  h = apus_mix(h, apus_seed[2]);
  return (unsigned int)(h ^ h >> 32);
}

/* The same for a number as a key: a client that chooses numbers cannot make them collide, either. */
static inline unsigned int apus_hash_number (uint64_t bits) {
  uint64_t h = apus_mix(bits ^ apus_seed[1], apus_seed[0]);
  return (unsigned int)(h ^ h >> 32);
}

#endif

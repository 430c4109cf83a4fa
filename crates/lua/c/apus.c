/*
** Work of C code, counted as instructions. See apus.h.
*/

#include "lua.h"

#include "lobject.h"
#include "lstate.h"

#include "apus.h"

uint64_t apus_seed[3] = {
  0x9E3779B97F4A7C15u, 0xBF58476D1CE4E5B9u, 0x94D049BB133111EBu
};

void apus_charge (lua_State *L, size_t n) {
  if (L->hookcount > 0 && n >= (size_t)L->hookcount)
    L->hookcount = 1;
  else if (L->hookcount > 0)
    L->hookcount -= (int)n;
}

int apus_due (lua_State *L, size_t n) {
  if (!(L->hookmask & LUA_MASKCOUNT) || !L->allowhook)
    return 0;
  if (L->hookcount > 0 && n < (size_t)L->hookcount) {
    L->hookcount -= (int)n;
    return 0;
  }
  L->hookcount = L->basehookcount;
  return 1;
}

void apus_spend (lua_State *L, size_t n) {
  if (apus_due(L, n))
    L->hook(L, NULL);
}

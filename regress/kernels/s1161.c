// s1161: for i in [0,L-1): if c[i] < 0 then b[i] := a[i] + d[i]^2 else a[i] := c[i] + d[i]*e[i] (gotos).
#include "tsvc.h"

int s1161(void) {
  for (int i = 0; i < L - 1; i++) {
    if (c[i] < 0) {
      goto negative;
    }
    a[i] = c[i] + d[i] * e[i];
    goto next;
    negative:
    b[i] = a[i] + d[i] * d[i];
    next:;
  }
  return 0;
}

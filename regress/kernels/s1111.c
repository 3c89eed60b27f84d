// s1111: for i in [0,H): a[2i] := c[i]b[i] + d[i]b[i] + c[i]^2 + d[i]b[i] + d[i]c[i] (the term d[i]b[i] is there
// twice).
#include "tsvc.h"

int s1111(void) {
  for (int i = 0; i < H; i++) {
    a[2 * i] = c[i] * b[i] + d[i] * b[i] + c[i] * c[i] + d[i] * b[i] + d[i] * c[i];
  }
  return 0;
}

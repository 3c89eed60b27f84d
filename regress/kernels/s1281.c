// s1281: for i in [0,L): x := b[i]c[i] + a[i]d[i] + e[i] (a local that hides the global x); a[i] := x-1; b[i] :=
// x.
#include "tsvc.h"

int s1281(void) {
  int x;
  for (int i = 0; i < L; i++) {
    x = b[i] * c[i] + a[i] * d[i] + e[i];
    a[i] = x - 1;
    b[i] = x;
  }
  return 0;
}

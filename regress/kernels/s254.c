// s254: x := b[L-1] (local); for i in [0,L): a[i] := (b[i]+x)*K with K = 0.5 converted to int, that is 0; x :=
// b[i]. Net effect: a[i] := 0.
#include "tsvc.h"

int s254(void) {
  int x = b[L - 1];
  for (int i = 0; i < L; i++) {
    a[i] = (b[i] + x) * (int)0.5;
    x = b[i];
  }
  return 0;
}

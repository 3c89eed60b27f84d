// s116: i1 := 0; for i = 0,5,10,.. < L-5: for t = 0..4 in order (written out): a[i+t] := a[i+t+1]*a[i+t]; then i1
// += 1 (i1 is never read).
#include "tsvc.h"

int s116(void) {
  int i1 = 0;
  for (int i = 0; i < L - 5; i += 5) {
    a[i] = a[i + 1] * a[i];
    a[i + 1] = a[i + 2] * a[i + 1];
    a[i + 2] = a[i + 3] * a[i + 2];
    a[i + 3] = a[i + 4] * a[i + 3];
    a[i + 4] = a[i + 5] * a[i + 4];
    i1++;
  }
  return 0;
}

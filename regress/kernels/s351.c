// s351: alpha := c[0]; i1 := 0; for i = 0,5,.. < L: i1 += 1 (never read); for t = 0..4 (written out): a[i+t] +=
// alpha*b[i+t].
#include "tsvc.h"

int s351(void) {
  int alpha = c[0], i1 = 0;
  for (int i = 0; i < L; i += 5) {
    i1++;
    a[i] += alpha * b[i];
    a[i + 1] += alpha * b[i + 1];
    a[i + 2] += alpha * b[i + 2];
    a[i + 3] += alpha * b[i + 3];
    a[i + 4] += alpha * b[i + 4];
  }
  return 0;
}

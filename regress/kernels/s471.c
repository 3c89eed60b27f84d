// s471: m = L; for i in [0,m): x[i] := b[i] + d[i]^2; b[i] := c[i] + d[i]*e[i]; then sum := Sum of x[i] over
// [0,L); temp := sum.
#include "tsvc.h"

int s471(void) {
  int m = L;
  for (int i = 0; i < m; i++) {
    x[i] = b[i] + d[i] * d[i];
    b[i] = c[i] + d[i] * e[i];
  }
  int sum = 0;
  for (int i = 0; i < L; i++) {
    sum += x[i];
  }
  temp = sum;
  return 0;
}

// s319: sum := 0; for i in [0,L): a[i] := c[i]+d[i]; sum += a[i]; b[i] := c[i]+e[i]; sum += b[i]. temp := sum.
#include "tsvc.h"

int s319(void) {
  int sum = 0;
  for (int i = 0; i < L; i++) {
    a[i] = c[i] + d[i];
    sum += a[i];
    b[i] = c[i] + e[i];
    sum += b[i];
  }
  temp = sum;
  return 0;
}

// Three loops, one after the other.
#include "nests.h"

int series(void) {
  int sum = 0;
  UNROLL
  for (int i = 0; i < LEN; i++) {
    W(a[i], b[i] + c[i]);
  }
  UNROLL
  for (int i = 0; i < LEN; i++) {
    W(b[i], a[i] * 3);
  }
  UNROLL
  for (int i = 0; i < LEN; i++) {
    W(c[i], b[i] - d[i]);
  }
  return sum;
}

// Fusion of a bounded number of iterations: the first four are taken out and done before.
#include "nests.h"

int fuse(void) {
  int sum = 0;
  for (int i = 0; i < 4; i++) {
    W(a[i], b[i] + 1);
  }
  UNROLL
  for (int i = 4; i < LEN; i++) {
    W(a[i], b[i] + 1);
  }
  return sum;
}

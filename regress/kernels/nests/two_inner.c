// Two inner loops in one outer loop, of different work.
#include "nests.h"

int two_inner(void) {
  int sum = 0;
  for (int i = 0; i < ROWS; i++) {
    UNROLL
    for (int j = 0; j < ROWS; j++) {
      W(m[i][j], n[i][j] ^ a[j]);
    }
    UNROLL
    for (int j = 0; j < ROWS; j++) {
      W(p[i][j], n[i][j] + b[j]);
    }
  }
  return sum;
}

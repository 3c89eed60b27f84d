// Two levels, the inner bound is the outer counter.
#include "nests.h"

int triangle(void) {
  int sum = 0;
  for (int i = 0; i < ROWS; i++) {
    UNROLL
    for (int j = 0; j < i; j++) {
      W(m[i][j], n[i][j] + p[i][j]);
    }
  }
  return sum;
}

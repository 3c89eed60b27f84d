// Three levels: a product of matrices.
#include "nests.h"

int product(void) {
  int sum = 0;
  for (int i = 0; i < ROWS; i++) {
    for (int k = 0; k < ROWS; k++) {
      int factor = n[i][k];
      UNROLL
      for (int j = 0; j < ROWS; j++) {
        W(m[i][j], m[i][j] + factor * p[k][j]);
      }
    }
  }
  return sum;
}

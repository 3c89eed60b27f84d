// An inner loop that only some rows have.
#include "nests.h"

int guarded(void) {
  int sum = 0;
  for (int i = 0; i < ROWS; i++) {
    if (a[i] > 0) {
      UNROLL
      for (int j = 0; j < ROWS; j++) {
        W(m[i][j], n[i][j] + a[i]);
      }
    }
  }
  return sum;
}

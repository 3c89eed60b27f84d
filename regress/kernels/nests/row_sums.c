// Two levels, with a sum of each row that is kept.
#include "nests.h"

int row_sums(void) {
  int sum = 0;
  for (int i = 0; i < ROWS; i++) {
    int row = 0;
    UNROLL
    for (int j = 0; j < ROWS; j++) {
      row += n[i][j] * b[j];
    }
    W(a[i], row);
  }
  return sum;
}

// Two levels: rows, and elements of a row.
#include "nests.h"

int rows(void) {
  int sum = 0;
  for (int i = 0; i < ROWS; i++) {
    UNROLL
    for (int j = 0; j < ROWS; j++) {
      W(m[i][j], n[i][j] + a[i]);
    }
  }
  return sum;
}

// Splitting: the two halves of the loop do different work.
#include "nests.h"

int split(void) {
  int sum = 0;
  UNROLL
  for (int i = 0; i < LEN; i++) {
    if (i < LEN / 2) {
      W(a[i], b[i] + c[i]);
    } else {
      W(a[i], b[i] * c[i]);
    }
  }
  return sum;
}

// Unswitching: a condition that the loop does not change.
#include "nests.h"

int unswitch(int flag) {
  int sum = 0;
  UNROLL
  for (int i = 0; i < LEN; i++) {
    if (flag > 0) {
      W(a[i], b[i] + flag);
    } else {
      W(a[i], b[i] - c[i]);
    }
  }
  return sum;
}

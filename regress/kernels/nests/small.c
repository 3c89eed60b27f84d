// A small loop with a constant bound in a long one.
#include "nests.h"

int small(void) {
  int sum = 0;
  UNROLL
  for (int i = 0; i < LEN - 3; i++) {
    int local = 0;
    for (int k = 0; k < 3; k++) {
      local += b[i + k];
    }
    W(a[i], local);
  }
  return sum;
}

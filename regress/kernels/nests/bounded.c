// A bound that is passed in.
#include "nests.h"

int bounded(int count) {
  int sum = 0;
  UNROLL
  for (int i = 0; i < count; i++) {
    W(a[i], b[i] + c[i]);
  }
  return sum;
}

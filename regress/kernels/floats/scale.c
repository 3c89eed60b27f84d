// Integers become numbers.
#include "floats.h"

void scale(float by) {
  for (int i = 0; i < LEN; i++) {
    x[i] = k[i] * by;
  }
}

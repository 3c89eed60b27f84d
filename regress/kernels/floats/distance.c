// Squares of the distances between points.
#include "floats.h"

void distance(void) {
  for (int i = 0; i < LEN; i++) {
    float across = x[i] - y[i];
    z[i] = across * across;
  }
}

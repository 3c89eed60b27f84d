// A sum of products.
#include "floats.h"

float dot(void) {
  float sum = 0;
  for (int i = 0; i < LEN; i++) {
    sum += x[i] * y[i];
  }
  return sum;
}

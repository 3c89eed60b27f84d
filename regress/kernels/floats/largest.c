// The largest number, with a comparison.
#include "floats.h"

float largest(void) {
  float most = x[0];
  for (int i = 1; i < LEN; i++) {
    if (x[i] > most) {
      most = x[i];
    }
  }
  return most;
}

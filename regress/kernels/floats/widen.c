// Numbers of 32 bits become numbers of 64 bits and back.
#include "floats.h"

void widen(void) {
  for (int i = 0; i < LEN; i++) {
    u[i] = x[i] * 3.0;
    y[i] = (float)v[i];
  }
}

// The same with numbers of 64 bits.
#include "floats.h"

void daxpy(double a, int n) {
  for (int i = 0; i < n; i++) {
    v[i] = a * u[i] + v[i];
  }
}

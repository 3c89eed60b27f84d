// A multiple of one array is added to another one.
#include "floats.h"

void saxpy(float a, int n) {
  for (int i = 0; i < n; i++) {
    y[i] = a * x[i] + y[i];
  }
}

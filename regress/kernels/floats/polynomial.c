// A polynomial of the third degree at many places.
#include "floats.h"

void polynomial(double c0, double c1, double c2, double c3) {
  for (int i = 0; i < LEN; i++) {
    v[i] = ((c3 * u[i] + c2) * u[i] + c1) * u[i] + c0;
  }
}

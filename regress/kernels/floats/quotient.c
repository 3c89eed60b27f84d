// Divisions of differences: neither has its operands in any order.
#include "floats.h"

void quotient(void) {
  for (int i = 0; i < LEN; i++) {
    w[i] = (u[i] - v[i]) / (u[i] + 1);
  }
}

// A sum, in the order of the source: no compiler may change it.
#include "floats.h"

double total(void) {
  double sum = 0;
  for (int i = 0; i < LEN; i++) {
    sum += u[i];
  }
  return sum;
}

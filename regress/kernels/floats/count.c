// How many numbers are below a limit.
#include "floats.h"

int count(double limit) {
  int found = 0;
  for (int i = 0; i < LEN; i++) {
    if (u[i] < limit) {
      found++;
    }
  }
  return found;
}

// What is negative becomes 0, of what is not the negative is kept elsewhere.
#include "floats.h"

void clamp(void) {
  for (int i = 0; i < LEN; i++) {
    x[i] = y[i] > 0 ? y[i] : 0;
    z[i] = -y[i];
  }
}

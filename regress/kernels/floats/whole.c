// Numbers become integers, towards zero.
#include "floats.h"

void whole(void) {
  for (int i = 0; i < LEN; i++) {
    k[i] = (int)(x[i] + 0.5f);
  }
}

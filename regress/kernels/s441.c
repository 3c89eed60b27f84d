// s441: for i in [0,L): a[i] += b[i]c[i] if d[i] < 0; b[i]^2 if d[i] = 0; c[i]^2 if d[i] > 0.
#include "tsvc.h"

int s441(void) {
  for (int i = 0; i < L; i++) {
    if (d[i] < 0) {
      a[i] += b[i] * c[i];
    } else if (d[i] == 0) {
      a[i] += b[i] * b[i];
    } else {
      a[i] += c[i] * c[i];
    }
  }
  return 0;
}

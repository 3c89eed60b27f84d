// vpvts: for i in [0,L): a[i] += b[i] * s (global s).
#include "tsvc.h"

int vpvts(void) {
  for (int i = 0; i < L; i++) {
    a[i] += b[i] * s;
  }
  return 0;
}

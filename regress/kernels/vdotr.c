// vdotr: dot := Sum of a[i]*b[i] over [0,L); temp := dot.
#include "tsvc.h"

int vdotr(void) {
  int dot = 0;
  for (int i = 0; i < L; i++) {
    dot += a[i] * b[i];
  }
  temp = dot;
  return 0;
}

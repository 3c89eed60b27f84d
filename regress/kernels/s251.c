// s251: for i in [0,L): s := b[i] + c[i]*d[i] (local); a[i] := s^2.
#include "tsvc.h"

int s251(void) {
  int s;
  for (int i = 0; i < L; i++) {
    s = b[i] + c[i] * d[i];
    a[i] = s * s;
  }
  return 0;
}

// s253: for i in [0,L): if a[i] > b[i]: s := a[i] - b[i]*d[i] (local); c[i] += s; a[i] := s.
#include "tsvc.h"

int s253(void) {
  int s;
  for (int i = 0; i < L; i++) {
    if (a[i] > b[i]) {
      s = a[i] - b[i] * d[i];
      c[i] += s;
      a[i] = s;
    }
  }
  return 0;
}

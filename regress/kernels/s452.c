// s452: for i in [0,L): a[i] := b[i] + c[i]*val; then a[i] += c[i].
#include "tsvc.h"

int s452(void) {
  for (int i = 0; i < L; i++) {
    a[i] = b[i] + c[i] * val;
    a[i] += c[i];
  }
  return 0;
}

// s131: m = 2; for i in [0,L-2): a[i] := a[i+m] + b[i].
#include "tsvc.h"

int s131(void) {
  int m = 2;
  for (int i = 0; i < L - 2; i++) {
    a[i] = a[i + m] + b[i];
  }
  return 0;
}

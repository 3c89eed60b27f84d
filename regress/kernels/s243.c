// s243: for i in [0,L-1): a[i] := b[i] + c[i]d[i]; b[i] := a[i] + d[i]e[i]; a[i] := b[i] + a[i+1]d[i].
#include "tsvc.h"

int s243(void) {
  for (int i = 0; i < L - 1; i++) {
    a[i] = b[i] + c[i] * d[i];
    b[i] = a[i] + d[i] * e[i];
    a[i] = b[i] + a[i + 1] * d[i];
  }
  return 0;
}

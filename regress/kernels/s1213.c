// s1213: for i in [1,L-1): a[i] := b[i-1] + c[i]; then b[i] := a[i+1]*d[i].
#include "tsvc.h"

int s1213(void) {
  for (int i = 1; i < L - 1; i++) {
    a[i] = b[i - 1] + c[i];
    b[i] = a[i + 1] * d[i];
  }
  return 0;
}

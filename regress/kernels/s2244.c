// s2244: for i in [0,L-1): a[i+1] := b[i] + e[i]; then a[i] := b[i] + c[i].
#include "tsvc.h"

int s2244(void) {
  for (int i = 0; i < L - 1; i++) {
    a[i + 1] = b[i] + e[i];
    a[i] = b[i] + c[i];
  }
  return 0;
}

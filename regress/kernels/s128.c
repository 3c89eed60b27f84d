// s128: j := -1; for i in [0,H): k := j+1; a[i] := b[k] - d[i]; j := k+1; b[k] := a[i] + c[k] (so k = 2i).
#include "tsvc.h"

int s128(void) {
  int j = -1, k;
  for (int i = 0; i < H; i++) {
    k = j + 1;
    a[i] = b[k] - d[i];
    j = k + 1;
    b[k] = a[i] + c[k];
  }
  return 0;
}

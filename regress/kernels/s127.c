// s127: j := -1; for i in [0,H): j += 1; a[j] := b[i] + c[i]*d[i]; j += 1; a[j] := b[i] + d[i]*e[i].
#include "tsvc.h"

int s127(void) {
  int j = -1;
  for (int i = 0; i < H; i++) {
    j++;
    a[j] = b[i] + c[i] * d[i];
    j++;
    a[j] = b[i] + d[i] * e[i];
  }
  return 0;
}

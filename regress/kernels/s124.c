// s124: j := -1; for i in [0,L): j += 1 (in either branch); a[j] := (b[i] > 0 ? b[i] : c[i]) + d[i]*e[i].
#include "tsvc.h"

int s124(void) {
  int j = -1;
  for (int i = 0; i < L; i++) {
    if (b[i] > 0) {
      j++;
      a[j] = b[i] + d[i] * e[i];
    } else {
      j++;
      a[j] = c[i] + d[i] * e[i];
    }
  }
  return 0;
}

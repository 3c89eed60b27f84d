// s274: for i in [0,L): a[i] := c[i] + e[i]*d[i]; if a[i] > 0 then b[i] += a[i] else a[i] := d[i]*e[i].
#include "tsvc.h"

int s274(void) {
  for (int i = 0; i < L; i++) {
    a[i] = c[i] + e[i] * d[i];
    if (a[i] > 0) {
      b[i] += a[i];
    } else {
      a[i] = d[i] * e[i];
    }
  }
  return 0;
}

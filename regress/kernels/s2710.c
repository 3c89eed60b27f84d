// s2710: for i in [0,L): if a[i] > b[i]: a[i] += b[i]*d[i] and (as L > 10 always) c[i] += d[i]^2 [the dead other
// arm would set c[i] := d[i]e[i]+1]; else b[i] := a[i] + e[i]^2 and, if parameter x > 0, c[i] := a[i] + d[i]^2,
// else c[i] += e[i]^2.
#include "tsvc.h"

int s2710(int x) {
  for (int i = 0; i < L; i++) {
    if (a[i] > b[i]) {
      a[i] += b[i] * d[i];
      if (L > 10) {
        c[i] += d[i] * d[i];
      } else {
        c[i] = d[i] * e[i] + 1;
      }
    } else {
      b[i] = a[i] + e[i] * e[i];
      if (x > 0) {
        c[i] = a[i] + d[i] * d[i];
      } else {
        c[i] += e[i] * e[i];
      }
    }
  }
  return 0;
}

// s273: for i in [0,L): a[i] += d[i]*e[i]; if a[i] < 0 then b[i] += d[i]*e[i]; c[i] += a[i]*d[i].
#include "tsvc.h"

int s273(void) {
  for (int i = 0; i < L; i++) {
    a[i] += d[i] * e[i];
    if (a[i] < 0) {
      b[i] += d[i] * e[i];
    }
    c[i] += a[i] * d[i];
  }
  return 0;
}

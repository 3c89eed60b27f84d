// s443: for i in [0,L): a[i] += b[i] * (d[i] <= 0 ? c[i] : b[i]) (gotos).
#include "tsvc.h"

int s443(void) {
  for (int i = 0; i < L; i++) {
    if (d[i] <= 0) {
      goto low;
    }
    a[i] += b[i] * b[i];
    goto next;
    low:
    a[i] += b[i] * c[i];
    next:;
  }
  return 0;
}

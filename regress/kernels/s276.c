// s276: mid = H; for i in [0,L): a[i] += b[i] * (i+1 < mid ? c[i] : d[i]) (written as if/else).
#include "tsvc.h"

int s276(void) {
  int mid = H;
  for (int i = 0; i < L; i++) {
    if (i + 1 < mid) {
      a[i] += b[i] * c[i];
    } else {
      a[i] += b[i] * d[i];
    }
  }
  return 0;
}

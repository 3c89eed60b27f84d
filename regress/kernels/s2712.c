// s2712: for i in [0,L): if a[i] > b[i] then a[i] += b[i]*c[i].
#include "tsvc.h"

int s2712(void) {
  for (int i = 0; i < L; i++) {
    if (a[i] > b[i]) {
      a[i] += b[i] * c[i];
    }
  }
  return 0;
}

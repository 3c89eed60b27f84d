// s1279: for i in [0,L): if a[i] < 0 and b[i] > a[i] (nested ifs) then c[i] += d[i]*e[i].
#include "tsvc.h"

int s1279(void) {
  for (int i = 0; i < L; i++) {
    if (a[i] < 0) {
      if (b[i] > a[i]) {
        c[i] += d[i] * e[i];
      }
    }
  }
  return 0;
}

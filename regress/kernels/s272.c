// s272: for i in [0,L): if e[i] >= t then a[i] += c[i]*d[i] and b[i] += c[i]^2.
#include "tsvc.h"

int s272(int t) {
  for (int i = 0; i < L; i++) {
    if (e[i] >= t) {
      a[i] += c[i] * d[i];
      b[i] += c[i] * c[i];
    }
  }
  return 0;
}

// s162: if k > 0: for i in [0,L-1): a[i] := a[i+k] + b[i]*c[i].
#include "tsvc.h"

int s162(int k) {
  if (k > 0) {
    for (int i = 0; i < L - 1; i++) {
      a[i] = a[i + k] + b[i] * c[i];
    }
  }
  return 0;
}

// s3251: for i in [0,L-1): a[i+1] := b[i]+c[i]; b[i] := c[i]*e[i]; d[i] := a[i]*e[i].
#include "tsvc.h"

int s3251(void) {
  for (int i = 0; i < L - 1; i++) {
    a[i + 1] = b[i] + c[i];
    b[i] = c[i] * e[i];
    d[i] = a[i] * e[i];
  }
  return 0;
}

// s132: m = 0, j = m, k = m+1; for i in [1,N): aa[j][i] := aa[k][i-1] + b[i]*c[1].
#include "tsvc.h"

int s132(void) {
  int m = 0, j = m, k = m + 1;
  for (int i = 1; i < N; i++) {
    aa[j][i] = aa[k][i - 1] + b[i] * c[1];
  }
  return 0;
}

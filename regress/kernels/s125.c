// s125: k := -1; for i in [0,N), j in [0,N): k += 1; array[k] := aa[i][j] + bb[i][j]*cc[i][j].
#include "tsvc.h"

int s125(void) {
  int k = -1;
  for (int i = 0; i < N; i++) {
    for (int j = 0; j < N; j++) {
      k++;
      array[k] = aa[i][j] + bb[i][j] * cc[i][j];
    }
  }
  return 0;
}

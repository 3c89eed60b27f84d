// s1115: for i in [0,N), j in [0,N): aa[i][j] := aa[i][j]*cc[j][i] + bb[i][j].
#include "tsvc.h"

int s1115(void) {
  for (int i = 0; i < N; i++) {
    for (int j = 0; j < N; j++) {
      aa[i][j] = aa[i][j] * cc[j][i] + bb[i][j];
    }
  }
  return 0;
}

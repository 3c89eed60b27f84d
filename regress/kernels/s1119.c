// s1119: for i in [1,N), j in [0,N): aa[i][j] := aa[i-1][j] + bb[i][j].
#include "tsvc.h"

int s1119(void) {
  for (int i = 1; i < N; i++) {
    for (int j = 0; j < N; j++) {
      aa[i][j] = aa[i - 1][j] + bb[i][j];
    }
  }
  return 0;
}

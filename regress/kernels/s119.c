// s119: for i in [1,N), j in [1,N): aa[i][j] := aa[i-1][j-1] + bb[i][j].
#include "tsvc.h"

int s119(void) {
  for (int i = 1; i < N; i++) {
    for (int j = 1; j < N; j++) {
      aa[i][j] = aa[i - 1][j - 1] + bb[i][j];
    }
  }
  return 0;
}

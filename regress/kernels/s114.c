// s114: for i in [0,N), j in [0,i): aa[i][j] := aa[j][i] + bb[i][j] (triangular).
#include "tsvc.h"

int s114(void) {
  for (int i = 0; i < N; i++) {
    for (int j = 0; j < i; j++) {
      aa[i][j] = aa[j][i] + bb[i][j];
    }
  }
  return 0;
}

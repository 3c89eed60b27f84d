// s2233: for i in [1,N): first j in [1,N): aa[j][i] := aa[j-1][i] + cc[j][i]; then j in [1,N): bb[i][j] :=
// bb[i-1][j] + cc[i][j].
#include "tsvc.h"

int s2233(void) {
  for (int i = 1; i < N; i++) {
    for (int j = 1; j < N; j++) {
      aa[j][i] = aa[j - 1][i] + cc[j][i];
    }
    for (int j = 1; j < N; j++) {
      bb[i][j] = bb[i - 1][j] + cc[i][j];
    }
  }
  return 0;
}

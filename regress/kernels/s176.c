// s176: m = H; for j in [0,H), i in [0,m): a[i] += b[i+m-j-1]*c[j].
#include "tsvc.h"

int s176(void) {
  int m = H;
  for (int j = 0; j < H; j++) {
    for (int i = 0; i < m; i++) {
      a[i] += b[i + m - j - 1] * c[j];
    }
  }
  return 0;
}

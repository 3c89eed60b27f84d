// s122: j := 1, k := 0; for i = n1-1, step n3, while i < L: k += j; a[i] += b[L-k].
#include "tsvc.h"

int s122(int n1, int n3) {
  int j = 1, k = 0;
  for (int i = n1 - 1; i < L; i += n3) {
    k += j;
    a[i] += b[L - k];
  }
  return 0;
}

// s423: vl = 64; xx := array+vl; for i in [0,L-1): array[i+1] := xx[i] + a[i]; then sum := Sum of array[i] over
// [0,L); temp := sum.
#include "tsvc.h"

int s423(void) {
  int vl = 64;
  xx = array + vl;
  for (int i = 0; i < L - 1; i++) {
    array[i + 1] = xx[i] + a[i];
  }
  int sum = 0;
  for (int i = 0; i < L; i++) {
    sum += array[i];
  }
  temp = sum;
  return 0;
}

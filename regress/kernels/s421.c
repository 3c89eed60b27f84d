// s421: yy := arr; for i in [0,L-1): arr[i] := yy[i+1] + a[i]; then sum := Sum of arr[i] over [0,L); temp := sum.
#include "tsvc.h"

int s421(void) {
  yy = arr;
  for (int i = 0; i < L - 1; i++) {
    arr[i] = yy[i + 1] + a[i];
  }
  int sum = 0;
  for (int i = 0; i < L; i++) {
    sum += arr[i];
  }
  temp = sum;
  return 0;
}

// s1421: xx := &b[H]; for i in [0,H): b[i] := xx[i] + a[i]; then sum := Sum of xx[i] over i in [0,H); temp := sum.
#include "tsvc.h"

int s1421(void) {
  xx = &b[H];
  for (int i = 0; i < H; i++) {
    b[i] = xx[i] + a[i];
  }
  int sum = 0;
  for (int i = 0; i < H; i++) {
    sum += xx[i];
  }
  temp = sum;
  return 0;
}

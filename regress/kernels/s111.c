// s111: for i = 1,3,5,.. < L: a[i] := a[i-1] + b[i].
#include "tsvc.h"

int s111(void) {
  for (int i = 1; i < L; i += 2) {
    a[i] = a[i - 1] + b[i];
  }
  return 0;
}

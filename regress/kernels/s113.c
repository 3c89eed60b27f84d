// s113: for i in [1,L): a[i] := a[0] + b[i].
#include "tsvc.h"

int s113(void) {
  for (int i = 1; i < L; i++) {
    a[i] = a[0] + b[i];
  }
  return 0;
}

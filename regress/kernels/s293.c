// s293: for i in [0,L): a[i] := a[0].
#include "tsvc.h"

int s293(void) {
  for (int i = 0; i < L; i++) {
    a[i] = a[0];
  }
  return 0;
}

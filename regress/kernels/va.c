// va: for i in [0,L): a[i] := b[i].
#include "tsvc.h"

int va(void) {
  for (int i = 0; i < L; i++) {
    a[i] = b[i];
  }
  return 0;
}

// s453: for i in [0,L): a[i] := val_s * b[i].
#include "tsvc.h"

int s453(void) {
  for (int i = 0; i < L; i++) {
    a[i] = val_s * b[i];
  }
  return 0;
}

// s1112: for i = L-1 down to 0: a[i] := b[i] + val.
#include "tsvc.h"

int s1112(void) {
  for (int i = L - 1; i >= 0; i--) {
    a[i] = b[i] + val;
  }
  return 0;
}

// s112: for i = L-2 down to 0: a[i+1] := a[i] + b[i].
#include "tsvc.h"

int s112(void) {
  for (int i = L - 2; i >= 0; i--) {
    a[i + 1] = a[i] + b[i];
  }
  return 0;
}

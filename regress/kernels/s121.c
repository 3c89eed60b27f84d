// s121: for i in [0,L-1): j := i+1; a[i] := a[j] + b[i].
#include "tsvc.h"

int s121(void) {
  int j;
  for (int i = 0; i < L - 1; i++) {
    j = i + 1;
    a[i] = a[j] + b[i];
  }
  return 0;
}

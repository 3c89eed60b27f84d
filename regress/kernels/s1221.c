// s1221: for i in [4,L): b[i] := b[i-4] + a[i].
#include "tsvc.h"

int s1221(void) {
  for (int i = 4; i < L; i++) {
    b[i] = b[i - 4] + a[i];
  }
  return 0;
}

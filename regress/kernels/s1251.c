// s1251: for i in [0,L): s := b[i]+c[i] (a local that hides the global s); b[i] := a[i]+d[i]; a[i] := s*e[i].
#include "tsvc.h"

int s1251(void) {
  int s;
  for (int i = 0; i < L; i++) {
    s = b[i] + c[i];
    b[i] = a[i] + d[i];
    a[i] = s * e[i];
  }
  return 0;
}

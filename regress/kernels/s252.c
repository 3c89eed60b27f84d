// s252: t := 0; for i in [0,L): s := b[i]*c[i] (local); a[i] := s + t; t := s.
#include "tsvc.h"

int s252(void) {
  int t = 0, s;
  for (int i = 0; i < L; i++) {
    s = b[i] * c[i];
    a[i] = s + t;
    t = s;
  }
  return 0;
}

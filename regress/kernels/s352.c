// s352: dot := 0, i1 := 0; for i = 0,5,.. < L: i1 += 1 (never read); dot += Sum over t=0..4 (written out) of
// a[i+t]*b[i+t]. temp := dot.
#include "tsvc.h"

int s352(void) {
  int dot = 0, i1 = 0;
  for (int i = 0; i < L; i += 5) {
    i1++;
    dot = dot + a[i] * b[i] + a[i + 1] * b[i + 1] + a[i + 2] * b[i + 2] + a[i + 3] * b[i + 3] +
          a[i + 4] * b[i + 4];
  }
  temp = dot;
  return 0;
}

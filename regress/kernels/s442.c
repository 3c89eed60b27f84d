// s442: for i in [0,L): by indx[i]: 2 -> a[i] += c[i]^2; 3 -> a[i] += d[i]^2; 4 -> a[i] += e[i]^2; 1 or anything
// else -> a[i] += b[i]^2 (switch to gotos).
#include "tsvc.h"

int s442(void) {
  for (int i = 0; i < L; i++) {
    switch (indx[i]) {
    case 1:
      goto first;
    case 2:
      goto second;
    case 3:
      goto third;
    case 4:
      goto fourth;
    }
    first:
    a[i] += b[i] * b[i];
    goto next;
    second:
    a[i] += c[i] * c[i];
    goto next;
    third:
    a[i] += d[i] * d[i];
    goto next;
    fourth:
    a[i] += e[i] * e[i];
    next:;
  }
  return 0;
}

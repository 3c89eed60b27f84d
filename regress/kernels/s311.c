// s311: sum := Sum of a[i] over [0,L); temp := sum.
#include "tsvc.h"

int s311(void) {
  int sum = 0;
  for (int i = 0; i < L; i++) {
    sum += a[i];
  }
  temp = sum;
  return 0;
}

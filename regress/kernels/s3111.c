// s3111: sum := Sum of those a[i] > 0 over [0,L); temp := sum.
#include "tsvc.h"

int s3111(void) {
  int sum = 0;
  for (int i = 0; i < L; i++) {
    if (a[i] > 0) {
      sum += a[i];
    }
  }
  temp = sum;
  return 0;
}

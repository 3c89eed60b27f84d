// sum1d: ret := Sum of arr[i] over [0,L); returned.
#include "tsvc.h"

int sum1d(void) {
  int ret = 0;
  for (int i = 0; i < L; i++) {
    ret += arr[i];
  }
  return ret;
}

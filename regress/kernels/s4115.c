// s4115: sum := Sum of a[i]*b[ip[i]] over [0,L); temp := sum (ip is a plain, non-restrict parameter).
#include "tsvc.h"

int s4115(int *ip) {
  int sum = 0;
  for (int i = 0; i < L; i++) {
    sum += a[i] * b[ip[i]];
  }
  temp = sum;
  return 0;
}

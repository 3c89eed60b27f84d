// s1351: three restrict pointers A,B,C start at a,b,c; L times (counter i): *A := *B + *C, then each pointer
// advances by one.
#include "tsvc.h"

int s1351(void) {
  int *restrict A = a;
  int *restrict B = b;
  int *restrict C = c;
  for (int i = 0; i < L; i++) {
    *A = *B + *C;
    A++;
    B++;
    C++;
  }
  return 0;
}

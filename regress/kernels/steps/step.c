// step: for i in [0,LEN): a[i] = b[i] + c[i], UNROLL_BY iterations at a time.
#include "../nests/nests.h"

int step(void) {
  UNROLL
  for (int i = 0; i < LEN; i++) {
    a[i] = b[i] + c[i];
  }
  return 0;
}

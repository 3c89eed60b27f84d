// s331: j := -1; for i in [0,L): if a[i] < 0 then j := i. A dead local chksum gets j; temp := j+1 (source is
// #ifdef-ed out for icc).
#include "tsvc.h"

int s331(void) {
  int j = -1, chksum;
  for (int i = 0; i < L; i++) {
    if (a[i] < 0) {
      j = i;
    }
  }
  chksum = j;
  temp = j + 1;
  return 0;
}

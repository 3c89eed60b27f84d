// s271: for i in [0,L): if b[i] > 0 then a[i] += b[i]*c[i].
#include "tsvc.h"

int s271(void) {
  for (int i = 0; i < L; i++) {
    if (b[i] > 0) {
      a[i] += b[i] * c[i];
    }
  }
  return 0;
}

// vpvtv: for i in [0,L): a[i] += b[i]*c[i].
#include "tsvc.h"

int vpvtv(void) {
  for (int i = 0; i < L; i++) {
    a[i] += b[i] * c[i];
  }
  return 0;
}

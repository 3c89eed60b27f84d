// vtvtv: for i in [0,L): a[i] := a[i]*b[i]*c[i].
#include "tsvc.h"

int vtvtv(void) {
  for (int i = 0; i < L; i++) {
    a[i] = a[i] * b[i] * c[i];
  }
  return 0;
}

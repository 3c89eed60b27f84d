// vif: for i in [0,L): if b[i] > 0 then a[i] := b[i].
#include "tsvc.h"

int vif(void) {
  for (int i = 0; i < L; i++) {
    if (b[i] > 0) {
      a[i] = b[i];
    }
  }
  return 0;
}

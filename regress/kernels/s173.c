// s173: k = H; for i in [0,H): a[i+k] := a[i] + b[i].
#include "tsvc.h"

int s173(void) {
  int k = H;
  for (int i = 0; i < H; i++) {
    a[i + k] = a[i] + b[i];
  }
  return 0;
}

// s174: for i in [0,M): a[i+M] := a[i] + b[i].
#include "tsvc.h"

int s174(int M) {
  for (int i = 0; i < M; i++) {
    a[i + M] = a[i] + b[i];
  }
  return 0;
}

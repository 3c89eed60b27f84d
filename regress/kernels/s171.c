// s171: for i in [0,L): a[i*inc] += b[i].
#include "tsvc.h"

int s171(int inc) {
  for (int i = 0; i < L; i++) {
    a[i * inc] += b[i];
  }
  return 0;
}

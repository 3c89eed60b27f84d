// The mean of four neighbours.
#include "floats.h"

void stencil(void) {
  for (int i = 1; i < ROWS - 1; i++) {
    for (int j = 1; j < ROWS - 1; j++) {
      h[i][j] = (g[i - 1][j] + g[i + 1][j] + g[i][j - 1] + g[i][j + 1]) * 0.25;
    }
  }
}

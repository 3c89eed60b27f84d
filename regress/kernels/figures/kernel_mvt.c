// Counter, figure 3: two inner loops one after the other, only the first is vectorised.
#ifndef LEN
#define LEN 1024
#endif
extern int in1[LEN][LEN], in2[LEN], out1[LEN], out2[LEN];

void kernel_mvt(void) {
  for (int i = 0; i < LEN; i++) {
    int sum1 = out1[i];
    int sum2 = out2[i];
    for (int j = 0; j < LEN; j++) {
      sum1 += in1[i][j] * in2[j];
    }
    for (int j = 0; j < LEN; j++) {
      sum2 += in1[j][i] * in2[j];
    }
    out1[i] = sum1;
    out2[i] = sum2;
  }
}

// Counter, figure 1: a triangular sum; the inner loop is empty for i >= 50.
extern int a[100][50];

int nestedLoop(void) {
  int sum = 0;
  for (int i = 0; i < 100; i++) {
    for (int j = i; j < 50; j++) {
      sum += a[i][j];
    }
  }
  return sum;
}

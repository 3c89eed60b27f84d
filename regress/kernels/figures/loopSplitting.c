// Counter, figure 9: the two halves of the loop do different work.
#ifndef LEN
#define LEN 1024
#endif
extern int a[LEN], b[LEN], c[LEN];

int loopSplitting(void) {
  int sum = 0;
  int mid = LEN / 2;
  for (int i = 0; i < LEN; i++) {
    if (i < mid) {
      sum += c[a[i]];
    }
    if (i >= mid) {
      sum += b[i];
    }
  }
  return sum;
}

// Counter, figure 8: a bound that is no multiple of the unroll factor, so the rest is done at the end.
#ifndef LEN
#define LEN 1024
#endif
extern int a[LEN], b[LEN];

void init1d(int n) {
  for (int i = 0; i < n; i++) {
    a[i] = b[i];
  }
}

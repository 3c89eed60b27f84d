// The undefined-behaviour paper, figure 1: `n + 1` does not overflow, and the two sums and the array have types
// that do not alias.
extern int A[1000];
extern int sum1;
extern long *sum2;

void sum(int n) {
  int *p = A;
  for (int i = 1; i < n + 1; ++i) {
    sum1 = sum1 + *p;
    *sum2 = *sum2 + *p;
    p++;
  }
}

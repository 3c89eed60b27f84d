// sum_size: the sum of n numbers, counted without sign.
unsigned sum_size(const unsigned *a, unsigned long n) {
  unsigned total = 0;
  for (unsigned long i = 0; i < n; i++) total += a[i];
  return total;
}

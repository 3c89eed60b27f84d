// dot_product: the sum of the products of two rows of n numbers.
int dot_product(const int *a, const int *b, int n) {
  int total = 0;
  for (int i = 0; i < n; i++) total += a[i] * b[i];
  return total;
}

// min_array: the least of n numbers; n is at least 1.
int min_array(const int *a, int n) {
  int least = a[0];
  for (int i = 1; i < n; i++) least = a[i] < least ? a[i] : least;
  return least;
}

// fill: n numbers that are all the same.
void fill(int *a, int n, int value) {
  for (int i = 0; i < n; i++) a[i] = value;
}

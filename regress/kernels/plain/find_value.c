// find_value: where a number is among n, or -1.
int find_value(const int *a, int n, int wanted) {
  for (int i = 0; i < n; i++)
    if (a[i] == wanted) return i;
  return -1;
}

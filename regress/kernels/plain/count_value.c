// count_value: how many of n numbers are a given one.
int count_value(const int *a, int n, int wanted) {
  int found = 0;
  for (int i = 0; i < n; i++)
    if (a[i] == wanted) found++;
  return found;
}

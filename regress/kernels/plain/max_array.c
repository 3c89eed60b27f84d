// max_array: the largest of n numbers; n is at least 1.
int max_array(const int *a, int n) {
  int most = a[0];
  for (int i = 1; i < n; i++)
    if (a[i] > most) most = a[i];
  return most;
}

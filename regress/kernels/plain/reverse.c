// reverse: n numbers in place, the last first.
void reverse(int *a, int n) {
  for (int i = 0, j = n - 1; i < j; i++, j--) {
    int kept = a[i];
    a[i] = a[j];
    a[j] = kept;
  }
}

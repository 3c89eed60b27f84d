// insertion_sort: n numbers in order.
void insertion_sort(int *a, int n) {
  for (int i = 1; i < n; i++) {
    int value = a[i], j = i;
    for (; j > 0 && a[j - 1] > value; j--) a[j] = a[j - 1];
    a[j] = value;
  }
}

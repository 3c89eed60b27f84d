// swap: the values of two variables exchanged.
void swap(int *left, int *right) {
  int kept = *left;
  *left = *right;
  *right = kept;
}

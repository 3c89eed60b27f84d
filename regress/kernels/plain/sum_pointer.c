// sum_pointer: the sum of the numbers between two pointers.
int sum_pointer(const int *p, const int *end) {
  int total = 0;
  while (p != end) total += *p++;
  return total;
}

// fibonacci: the n-th number of Fibonacci, modulo 2^32.
unsigned fibonacci(int n) {
  unsigned before = 0, now = 1;
  for (int i = 0; i < n; i++) {
    unsigned next = before + now;
    before = now;
    now = next;
  }
  return before;
}

// collatz: steps until a number is 1.
int collatz(unsigned n) {
  int steps = 0;
  while (n != 1) {
    n = n & 1 ? 3 * n + 1 : n / 2;
    steps++;
  }
  return steps;
}

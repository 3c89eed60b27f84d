// gcd: the greatest common divisor.
unsigned gcd(unsigned a, unsigned b) {
  while (b) {
    unsigned rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

// power: base to the power of an exponent, modulo 2^32.
unsigned power(unsigned base, unsigned exponent) {
  unsigned result = 1;
  while (exponent) {
    if (exponent & 1) result *= base;
    base *= base;
    exponent >>= 1;
  }
  return result;
}

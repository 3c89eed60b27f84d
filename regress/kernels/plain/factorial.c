// factorial: the product of the numbers up to n, modulo 2^32.
unsigned factorial(unsigned n) {
  unsigned product = 1;
  for (unsigned i = 2; i <= n; i++) product *= i;
  return product;
}

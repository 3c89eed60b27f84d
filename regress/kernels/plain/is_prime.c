// is_prime: whether a number has no divisors.
int is_prime(unsigned n) {
  if (n < 2) return 0;
  for (unsigned i = 2; i < n; i++)
    if (n % i == 0) return 0;
  return 1;
}

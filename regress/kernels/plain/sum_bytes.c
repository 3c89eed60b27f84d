// sum_bytes: the sum of n bytes.
unsigned sum_bytes(const unsigned char *s, int n) {
  unsigned total = 0;
  for (int i = 0; i < n; i++) total += s[i];
  return total;
}

// reverse_bits: the bits of a number, the last first.
unsigned reverse_bits(unsigned bits) {
  unsigned result = 0;
  for (int i = 0; i < 32; i++) {
    result = result << 1 | (bits & 1);
    bits >>= 1;
  }
  return result;
}

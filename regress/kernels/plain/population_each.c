// population_each: the same, bit by bit.
int population_each(unsigned bits) {
  int set = 0;
  for (; bits; bits >>= 1) set += bits & 1;
  return set;
}

// population: how many bits are set.
int population(unsigned bits) {
  int set = 0;
  while (bits) {
    bits &= bits - 1;
    set++;
  }
  return set;
}

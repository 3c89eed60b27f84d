// metaloc: prepare=mem2reg,simplifycfg
// The pass turns the call in the odd branch into a loop and copies its `+ 1` in front of the other
// return, where the location of the odd branch must not follow.
unsigned weight(unsigned n) {
  if (n > 1) {
    unsigned rest = n / 3;
    if (n & 1) {
      return weight(rest) + 1;
    } else {
      return weight(rest) * 5;
    }
  }
  return 0;
}

// copy_shorts: n short numbers, negated.
void copy_shorts(short *to, const short *from, int n) {
  for (int i = 0; i < n; i++) to[i] = -from[i];
}

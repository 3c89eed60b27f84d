// sign: -1, 0 or 1.
int sign(int value) {
  return (value > 0) - (value < 0);
}

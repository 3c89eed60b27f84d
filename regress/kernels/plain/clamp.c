// clamp: a number, or the nearer of two limits.
int clamp(int value, int least, int most) {
  if (value < least) return least;
  if (value > most) return most;
  return value;
}

// absolute: a number without its sign.
int absolute(int value) {
  return value < 0 ? -value : value;
}

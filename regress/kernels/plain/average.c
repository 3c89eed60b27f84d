// average: the mean of two numbers, rounded down.
unsigned average(unsigned left, unsigned right) {
  return (left & right) + ((left ^ right) >> 1);
}

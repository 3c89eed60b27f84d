// parse_number: the number that a text begins with.
unsigned parse_number(const char *s) {
  unsigned number = 0;
  while (*s >= '0' && *s <= '9') number = number * 10 + (unsigned)(*s++ - '0');
  return number;
}

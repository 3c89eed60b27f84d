// count_char: how often a byte is in a text.
int count_char(const char *s, char wanted) {
  int found = 0;
  for (; *s; s++)
    if (*s == wanted) found++;
  return found;
}

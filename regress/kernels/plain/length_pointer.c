// length_pointer: the same with a pointer.
unsigned long length_pointer(const char *s) {
  const char *p = s;
  while (*p) p++;
  return p - s;
}

// copy_bytes: n bytes from one place to another.
void copy_bytes(char *restrict to, const char *restrict from, int n) {
  for (int i = 0; i < n; i++) to[i] = from[i] + 1;
}

// compare_text: whether a text is before, the same as or after another one.
int compare_text(const char *left, const char *right) {
  while (*left && *left == *right) {
    left++;
    right++;
  }
  return (unsigned char)*left - (unsigned char)*right;
}

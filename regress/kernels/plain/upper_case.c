// upper_case: a text in capital letters.
void upper_case(char *s) {
  for (; *s; s++)
    if (*s >= 'a' && *s <= 'z') *s -= 'a' - 'A';
}

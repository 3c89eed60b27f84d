// state_machine: the state after a text of digits, points and other characters.
int state_machine(const char *s) {
  int state = 0;
  for (; *s; s++) {
    switch (state) {
      case 0: state = *s == '.' ? 1 : 0; break;
      case 1: state = *s == '.' ? 2 : 0; break;
      default: return 3;
    }
  }
  return state;
}

// s000: for i in [0,L): X[i] := Y[i] + val.
#define L 32000
extern int X[L], Y[L], val;

int s000(void) {
  for (int i = 0; i < L; i++) {
    X[i] = Y[i] + val;
  }
  return 0;
}

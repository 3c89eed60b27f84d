// s317: q := 1; H times: q *= 99; temp := q.
#define L 32000
#define H (L / 2)
extern int temp;

int s317(void) {
  int q = 1;
  for (int i = 0; i < H; i++) {
    q *= 99;
  }
  temp = q;
  return 0;
}

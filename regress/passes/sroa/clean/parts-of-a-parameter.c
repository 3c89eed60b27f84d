// The struct comes in one register, and clang stores that, without a location, since no statement does it. The pass
// cuts the register into the parts that are loaded: these belong to the store, and not to the loads that they replace.
struct shade {
  short depth;
  char hue;
  char tint;
};

int mix(struct shade one, int by) {
  int deep = one.depth * by;
  int light = one.hue + one.tint;
  return deep - light;
}

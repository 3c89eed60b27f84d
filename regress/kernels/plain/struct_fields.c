// struct_fields: the sum of the areas of n boxes.
struct box {
  short width, height;
  int count;
};
int struct_fields(const struct box *boxes, int n) {
  int total = 0;
  for (int i = 0; i < n; i++) total += boxes[i].width * boxes[i].height * boxes[i].count;
  return total;
}

// list_sum: the sum of a list.
struct item {
  struct item *next;
  int value;
};
int list_sum(const struct item *list) {
  int total = 0;
  while (list) {
    total += list->value;
    list = list->next;
  }
  return total;
}

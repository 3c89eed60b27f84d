// list_length: how many there are in a list.
struct item {
  int value;
  struct item *next;
};
int list_length(const struct item *list) {
  int n = 0;
  for (; list; list = list->next) n++;
  return n;
}

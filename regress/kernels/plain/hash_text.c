// hash_text: a hash of a text.
unsigned hash_text(const char *s) {
  unsigned hash = 5381;
  for (; *s; s++) hash = hash * 33 + (unsigned char)*s;
  return hash;
}

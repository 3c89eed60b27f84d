// transpose: a square with rows and columns exchanged.
#define SIZE 16
int from[SIZE][SIZE], to[SIZE][SIZE];
void transpose(void) {
  for (int i = 0; i < SIZE; i++)
    for (int j = 0; j < SIZE; j++) to[j][i] = from[i][j];
}

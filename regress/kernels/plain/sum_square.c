// sum_square: the sum of a square of numbers.
#define SIZE 16
int sum_square(int m[SIZE][SIZE]) {
  int total = 0;
  for (int i = 0; i < SIZE; i++)
    for (int j = 0; j < SIZE; j++) total += m[i][j];
  return total;
}

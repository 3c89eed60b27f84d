// Data of the kernels in this folder: numbers of both formats.
#ifndef LEN
#define LEN 480
#endif
#define ROWS 48

extern float x[LEN], y[LEN], z[LEN];
extern double u[LEN], v[LEN], w[LEN];
extern int k[LEN];
extern double g[ROWS][ROWS], h[ROWS][ROWS];

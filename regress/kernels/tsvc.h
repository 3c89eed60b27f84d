// Data of the TSVC kernels (see README.md). Tests make the arrays smaller with -DL=... and -DN=...; L must be a
// multiple of 40 above 200 for kernels with fixed distances to stay in bounds.
#ifndef L
#define L 32000
#endif
#ifndef N
#define N 256
#endif
#define H (L / 2)
#define ALIGNED __attribute__((aligned(16)))

extern int a[L] ALIGNED, b[L] ALIGNED, c[L] ALIGNED, d[L] ALIGNED, e[L] ALIGNED, x[L] ALIGNED, indx[L] ALIGNED;
extern int X[L] ALIGNED, Y[L] ALIGNED;
extern int aa[N][N] ALIGNED, bb[N][N] ALIGNED, cc[N][N] ALIGNED;
extern int array[N * N] ALIGNED;
extern int arr[L];
extern int val, temp, s, val_s;
extern int *xx, *yy;

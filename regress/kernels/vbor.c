// vbor: for i in [0,N): take a1,b1,c1,d1,e1 = a..e[i], f1 = aa[0][i]; A := a1 * (sum of the 10 pair products of
// {b1,c1,d1,e1,f1}); B := b1 * (6 pair products of {c1,d1,e1,f1}); C := c1 * (3 pair products of {d1,e1,f1}); D :=
// d1e1f1 (all expanded, results kept in a1,b1,c1,d1); x[i] := A*B*C*D. Then sum := Sum of x[i] over [0,L); temp :=
// sum.
#include "tsvc.h"

int vbor(void) {
  int a1, b1, c1, d1, e1, f1;
  for (int i = 0; i < N; i++) {
    a1 = a[i];
    b1 = b[i];
    c1 = c[i];
    d1 = d[i];
    e1 = e[i];
    f1 = aa[0][i];
    a1 = a1 * b1 * c1 + a1 * b1 * d1 + a1 * b1 * e1 + a1 * b1 * f1 + a1 * c1 * d1 + a1 * c1 * e1 +
         a1 * c1 * f1 + a1 * d1 * e1 + a1 * d1 * f1 + a1 * e1 * f1;
    b1 = b1 * c1 * d1 + b1 * c1 * e1 + b1 * c1 * f1 + b1 * d1 * e1 + b1 * d1 * f1 + b1 * e1 * f1;
    c1 = c1 * d1 * e1 + c1 * d1 * f1 + c1 * e1 * f1;
    d1 = d1 * e1 * f1;
    x[i] = a1 * b1 * c1 * d1;
  }
  int sum = 0;
  for (int i = 0; i < L; i++) {
    sum += x[i];
  }
  temp = sum;
  return 0;
}

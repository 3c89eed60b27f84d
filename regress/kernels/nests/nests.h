// Data and switches of the nests (see ../README.md). STORE=1: the inner loop writes memory; STORE=0: it sums.
// UNROLL_BY=8 asks for that factor; without it the compiler chooses.
#ifndef LEN
#define LEN 1024
#endif
#ifndef ROWS
#define ROWS 64
#endif
#ifndef STORE
#define STORE 1
#endif
#define TEXT(words) #words
#define PRAGMA(words) _Pragma(TEXT(words))
#if !defined(UNROLL_BY)
#define UNROLL
#elif defined(__clang__)
#define UNROLL PRAGMA(clang loop unroll_count(UNROLL_BY))
#else
#define UNROLL PRAGMA(GCC unroll UNROLL_BY)
#endif

extern int a[LEN], b[LEN], c[LEN], d[LEN];
extern int m[ROWS][ROWS], n[ROWS][ROWS], p[ROWS][ROWS];

#if STORE
#define W(place, value) ((place) = (value))
#else
#define W(place, value) (sum += (value))
#endif

// Small functions of all kinds for tests/ir_semantics.rs and tests/machine_functions.rs; one per line.
typedef unsigned char u8; typedef unsigned short u16; typedef unsigned u32; typedef unsigned long u64;
struct P { char c; int x[3]; long l; u8 bits[5]; };
struct Pair { int left, right; };
extern int a[16], b[16]; extern short h[8]; extern u8 bytes[32]; extern long wide[4];
extern struct P ps[4]; extern struct Pair pair; extern int *kept; extern int number;
static const int table[4] = { 3, -1, 7, 100000 };

int mixed(char c, short s, int i, long l) { return (c + s) * i - (int)l; }
unsigned narrow(u8 x, u16 y) { return (u8)(x + y) << 3 ^ (u16)~y; }
long shifts(int x, u32 y, long z, int n) { return (x >> (n & 31)) + (long)(y >> (n & 7)) + (z << (n & 63)); }
int compare(long x, u64 y) { return (x < (long)y) + 2 * ((u64)x < y) + 4 * (x == (long)y) + 8 * !x; }
int logic(int x, int y, int z) { return (x && y) || (!z && x > y); }
int ternary(int x, int y) { return x < y ? x : y; }
int chosen(int x) { switch (x & 7) { case 0: return 5; case 1: case 2: x += 2; break; case 5: x = -x; default: x ^= 1; } return x; }
int looped(int n) { int s = 0; for (int i = 0; i < (n & 15); i++) s += a[i] * (i + 1); return s; }
int nested(void) { int s = 0; for (int i = 0; i < 4; i++) for (int j = i; j < 4; j++) { s += a[4 * i + j]; b[j] ^= s; } return s; }
void copies(void) { for (int i = 15; i > 0; i--) a[i] = a[i - 1] + b[i]; }
int element(int i) { return table[i & 3] + a[(u32)i % 16]; }
int fixed(void) { return table[2] - table[1]; }
short halves(int i, short v) { short old = h[i & 7]; h[i & 7] = v; return old; }
u64 joined(int i) { u64 r = 0; for (int k = 0; k < 8; k++) r = r << 8 | bytes[(i + k) & 31]; return r; }
long fields(int i, long v) { struct P *p = &ps[i & 3]; p->x[1] += (int)v; p->c = (char)v; p->bits[2]++; long old = p->l; p->l = v; return old + ps[2].x[0]; }
void structs(int i, int j) { ps[i & 3] = ps[j & 3]; }
int locals(int i, int v) { int box[4] = { 1, 2, 3, 4 }; box[i & 3] = v; return box[0] * 3 + box[3]; }
int filled(int i) { u8 room[11] = { 0 }; room[i & 7] = 9; int s = 0; for (int k = 0; k < 11; k++) s = s * 3 + room[k]; return s; }
int followed(int i) { kept = &b[4]; for (int k = 0; k < 4; k++) a[k] = kept[k] + i; return *kept; }
long distance(int i, int j) { return &a[i & 15] - &a[j & 15]; }
int walked(int n) { int *p = a, *q = b, s = 0; while (n-- > 0 && p != a + 16) s += *p++ * *q++; return s; }
int divided(int x, int y) { return x / y + x % y; }
u64 unsigned_divided(u64 x, u64 y) { return x / y ^ x % y; }
int early(int n) { for (int i = 0; i < 16; i++) { if (a[i] == n) return i; if (a[i] < 0) continue; b[i]++; } return -1; }
int jumps(int n) { int r = 0; again: if (n > 40) goto out; r += n; n += 7; if (r < 1000 && n > -100) goto again; out: return r; }
_Bool truth(_Bool x, int y) { return x ^ (y != 0); }
int promoted(signed char c) { return c * c + -c + ~c + !c; }
void swapped(void) { struct Pair p = pair; pair.left = p.right; pair.right = p.left; }
u32 rotated(u32 x, int n) { return x << (n & 31) | x >> (-n & 31); }
int uninitialised(int n) { int s; if (n > 3) s = n; else s = 2; return s; }
long casts(int x) { return (long)(u8)x + (long)(signed char)x + (long)(u16)x + (u32)x; }
int counted(u32 n) { int c = 0; do { c += n & 1; n >>= 1; } while (n); return c; }

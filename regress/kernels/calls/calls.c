/* Loops with calls of functions that nobody knows: one call in each turn, several of them, with results used and
   not used, before and after loops, in branches. */

extern int X[240] __attribute__((aligned(16)));
extern int Y[240] __attribute__((aligned(16)));
extern int val;

int g(int first, int second);
void h(int value);

/* A result for each element. */
void map(void)
{
    for (int i = 0; i < 240; i++)
        X[i] = g(Y[i], i);
}

/* A call whose callee may change what is read next. */
void tell(int n)
{
    for (int i = 0; i < n; i++) {
        h(i);
        Y[i] = X[i] + val;
    }
}

/* Several calls in one turn, with a sum that lives across them. */
int fold(void)
{
    int sum = 0;
    for (int i = 0; i < 240; i++) {
        h(i + sum);
        sum += g(sum, X[i]);
        h(sum);
    }
    return sum;
}

/* A loop between two calls. */
int around(void)
{
    h(1);
    for (int i = 0; i < 240; i++)
        X[i] = Y[i] + val;
    h(2);
    return val;
}

/* A call on one of two ways. */
void now_and_then(void)
{
    for (int i = 0; i < 240; i++) {
        if (Y[i] > val)
            X[i] = g(i, val) + 1;
        else
            X[i] = Y[i];
    }
}

/* A result that decides. */
int until(int n)
{
    int i = 0;
    while (i < n && g(i, X[0]) != 0)
        i++;
    return i;
}

#include <stdio.h>

int sum(const int *items, int count);

int main(void)
{
    const int items[] = {1, 2, 3, 100};
    int got = sum(items, 3);
    if (got == 6) return 0;
    printf("sum of 1, 2, 3 is %d, not 6\n", got);
    return 1;
}

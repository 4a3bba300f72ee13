int sum(const int *items, int count)
{
    int total = 0;
    for (int i = 0; i <= count; i++) total += items[i];
    return total;
}

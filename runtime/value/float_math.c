/* float_math.c: ln, exp and pow, the same bits on every machine.
 *
 * A replay must compute what the first pass computed, perhaps on another processor and with another C library. Their
 * functions differ in the last bit (a fused multiply-add is enough), so these are made of plain additions,
 * multiplications and divisions, which IEEE 754 defines to the bit: on pairs of floats whose sum is the value
 * ("double-double", T. J. Dekker, 1971), with about 100 bits, rounded once at the end. */
#include <float.h>
#include <math.h>

#include "value/heap.h"

#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#else
#pragma GCC optimize("fp-contract=off")
#endif

/* high + low; |low| is at most half a unit in the last place of high. */
typedef struct Pair {
    double high, low;
} Pair;

static const Pair ln_2 = {0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56};

static Pair sum_of(double a, double b)
{
    const double sum = a + b, part = sum - a;
    return (Pair){sum, (a - (sum - part)) + (b - part)};
}

static Pair split(double a)
{
    const double c = 0x1.0000002p27 * a, high = c - (c - a);
    return (Pair){high, a - high};
}

static Pair product_of(double a, double b)
{
    const double p = a * b;
    const Pair x = split(a), y = split(b);
    return (Pair){p, ((x.high * y.high - p) + x.high * y.low + x.low * y.high) + x.low * y.low};
}

static Pair add(Pair a, Pair b)
{
    const Pair high = sum_of(a.high, b.high), low = sum_of(a.low, b.low),
               first = sum_of(high.high, high.low + low.high);
    return sum_of(first.high, first.low + low.low);
}

static Pair times(Pair a, Pair b)
{
    const Pair p = product_of(a.high, b.high);
    return sum_of(p.high, p.low + (a.high * b.low + a.low * b.high));
}

static Pair over(Pair a, Pair b)
{
    const double first = a.high / b.high;
    const Pair back = times(b, (Pair){first, 0}), left = add(a, (Pair){-back.high, -back.low});
    const double second = left.high / b.high;
    const Pair back_again = times(b, (Pair){second, 0}), rest = add(left, (Pair){-back_again.high, -back_again.low});
    return add(sum_of(first, second), (Pair){rest.high / b.high, 0});
}

/* ln(m * 2^k) = k ln 2 + 2 (s + s^3/3 + s^5/5 …) with s = (m - 1) / (m + 1), m near 1. */
static Pair ln_pair(double x)
{
    int k;
    double m = frexp(x, &k);
    if (m < 0x1.6a09e667f3bcdp-1) {
        m *= 2;
        k--;
    }
    const Pair s = over(sum_of(m, -1), sum_of(m, 1)), square = times(s, s);
    Pair sum = {0, 0};
    for (int n = 41; n >= 1; n -= 2) sum = add(times(sum, square), over((Pair){1, 0}, (Pair){n, 0}));
    sum = times(sum, s);
    return add(times(ln_2, (Pair){k, 0}), (Pair){2 * sum.high, 2 * sum.low});
}

/* exp(x) = 2^k exp(r)^256, with x = k ln 2 + 256 r. |x| is below 800. */
static double exp_of(Pair x)
{
    const double k = floor(x.high / ln_2.high + 0.5);
    const Pair back = times(ln_2, (Pair){k, 0}), rest = add(x, (Pair){-back.high, -back.low});
    const Pair r = {rest.high / 256, rest.low / 256};
    Pair sum = {0, 0}; /* exp(r) - 1: near 0, so that the squares below lose no bits */
    for (int n = 12; n >= 1; n--) sum = times(over(r, (Pair){n, 0}), add(sum, (Pair){1, 0}));
    for (int i = 0; i < 8; i++) sum = add((Pair){2 * sum.high, 2 * sum.low}, times(sum, sum));
    sum = add(sum, (Pair){1, 0});
    return ldexp(sum.high + sum.low, (int)k);
}

bool tfy_float_ln(TfyTask *task, uint32_t line, double value, double *out)
{
    *out = 0;
    if (value <= 0) return tfy_panic(task, line, "ln of a number that is not above 0");
    const Pair ln = ln_pair(value);
    *out = ln.high + ln.low;
    return true;
}

/* What lies outside the range of floats becomes infinite, which panics, or 0. */
static double exp_bounded(Pair x)
{
    return x.high > 800 ? HUGE_VAL : x.high < -800 ? 0 : exp_of(x);
}

bool tfy_float_exp(TfyTask *task, uint32_t line, double value, double *out)
{
    *out = 0;
    return tfy__finite(task, line, exp_bounded((Pair){value, 0}), out);
}

static bool is_odd(double whole)
{
    return fmod(whole, 2) != 0;
}

bool tfy_float_pow(TfyTask *task, uint32_t line, double base, double power, double *out)
{
    const bool is_whole = floor(power) == power;
    *out = 1;
    if (power == 0 || base == 1) return true;
    *out = 0;
    if (base == 0 && power < 0) return tfy__div_zero(task, line);
    if (base == 0) return true;
    if (base < 0 && !is_whole) return tfy_panic(task, line, "a negative number to a power that is not whole");
    const double size = fabs(base), rough = ln_pair(size).high * power;
    const bool is_far = rough > 800 || rough < -800; /* the pair's product could overflow in its parts */
    const double made = is_far ? exp_bounded((Pair){rough, 0}) : exp_of(times(ln_pair(size), (Pair){power, 0}));
    return tfy__finite(task, line, base < 0 && is_odd(power) ? -made : made, out);
}

/* hex.h: hexadecimal digits. */
#ifndef BASE_HEX_H
#define BASE_HEX_H

/* The value of a digit, whose letter may be large or small; -1: it is none. */
static inline int tfy__hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

#endif

/* text.h: numbers and letters without the process's locale. What a program prints and reads is the same wherever it
 * runs, so the C library's functions that ask for a locale get one of ours: C.UTF-8. */
#ifndef TFY_VALUE_TEXT_H
#define TFY_VALUE_TEXT_H

#include "tfy_program.h"

#include <locale.h>

locale_t tfy__locale(void);

#endif

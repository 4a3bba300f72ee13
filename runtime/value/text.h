/* text.h: numbers and letters, independent of the process's locale. A program prints and reads the same text
 * everywhere, so C library functions that depend on a locale get one of ours: C.UTF-8. */
#ifndef TFY_VALUE_TEXT_H
#define TFY_VALUE_TEXT_H

#include "tfy_program.h"

#include <locale.h>

locale_t tfy__locale(void);

#endif

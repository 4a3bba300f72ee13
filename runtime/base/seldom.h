/* seldom.h: functions for which a person waits, and no loop: they are compiled to be small, and kept apart from the
 * others. */
#ifndef TFY_BASE_SELDOM_H
#define TFY_BASE_SELDOM_H

#define TFY_SELDOM __attribute__((cold))

#endif

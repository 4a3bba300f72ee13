/* list.h: lists whose items carry their own links.
 *
 * A list is any struct with the members `first` and `last`; LIST(Type) is one. A zeroed struct is an empty list. Each
 * use names the links, so an item can be in several lists, each through its own links. Arguments are evaluated more
 * than once: pass variables and members, not calls. */
#ifndef TFY_BASE_LIST_H
#define TFY_BASE_LIST_H

#include "check.h"

#include <stdbool.h>
#include <stddef.h>

#define LIST(Type)                                                                                                     \
    struct {                                                                                                           \
        Type *first, *last;                                                                                            \
    }

/* ---- linked one way ---- */

#define LIST_APPEND(list, item, next)                                                                                  \
    do {                                                                                                               \
        (item)->next = NULL;                                                                                           \
        if ((list)->last) {                                                                                            \
            CHECK(!(list)->last->next);                                                                                \
            (list)->last->next = (item);                                                                               \
        } else {                                                                                                       \
            CHECK(!(list)->first);                                                                                     \
            (list)->first = (item);                                                                                    \
        }                                                                                                              \
        (list)->last = (item);                                                                                         \
    } while (0)

#define LIST_PREPEND(list, item, next)                                                                                 \
    do {                                                                                                               \
        (item)->next = (list)->first;                                                                                  \
        (list)->first = (item);                                                                                        \
        if (!(list)->last) (list)->last = (item);                                                                      \
    } while (0)

/* Removes and returns the first item; NULL: the list is empty. */
#define LIST_TAKE(list, next)                                                                                          \
    ({                                                                                                                 \
        __typeof__((list)->first) list_taken = (list)->first;                                                          \
        if (list_taken && !((list)->first = list_taken->next)) {                                                       \
            CHECK((list)->last == list_taken);                                                                         \
            (list)->last = NULL;                                                                                       \
        }                                                                                                              \
        list_taken;                                                                                                    \
    })

/* Removes an item by a walk from the first one; false: it is not in the list. */
#define LIST_REMOVE(list, item, next)                                                                                  \
    ({                                                                                                                 \
        __typeof__((list)->first) list_before = NULL, list_at = (list)->first;                                         \
        for (; list_at && list_at != (item); list_at = list_at->next) list_before = list_at;                           \
        if (list_at && list_before) list_before->next = list_at->next;                                                 \
        if (list_at && !list_before) (list)->first = list_at->next;                                                    \
        if (list_at && (list)->last == list_at) (list)->last = list_before;                                            \
        list_at != NULL;                                                                                               \
    })

/* Moves all items of the other list before those of this one; the other list is empty afterwards. */
#define LIST_PREPEND_ALL(list, other, next)                                                                            \
    do {                                                                                                               \
        if ((other)->first) {                                                                                          \
            (other)->last->next = (list)->first;                                                                       \
            (list)->first = (other)->first;                                                                            \
            if (!(list)->last) (list)->last = (other)->last;                                                           \
            (other)->first = (other)->last = NULL;                                                                     \
        }                                                                                                              \
    } while (0)

/* ---- linked both ways: an item can be removed without a walk ---- */

#define LIST2_APPEND(list, item, prev, next)                                                                           \
    do {                                                                                                               \
        (item)->prev = (list)->last;                                                                                   \
        LIST_APPEND(list, item, next);                                                                                 \
    } while (0)

#define LIST2_REMOVE(list, item, prev, next)                                                                           \
    do {                                                                                                               \
        if ((item)->prev) {                                                                                            \
            CHECK((item)->prev->next == (item));                                                                       \
            (item)->prev->next = (item)->next;                                                                         \
        } else {                                                                                                       \
            CHECK((list)->first == (item));                                                                            \
            (list)->first = (item)->next;                                                                              \
        }                                                                                                              \
        if ((item)->next) {                                                                                            \
            CHECK((item)->next->prev == (item));                                                                       \
            (item)->next->prev = (item)->prev;                                                                         \
        } else {                                                                                                       \
            CHECK((list)->last == (item));                                                                             \
            (list)->last = (item)->prev;                                                                               \
        }                                                                                                              \
        (item)->prev = (item)->next = NULL;                                                                            \
    } while (0)

#endif

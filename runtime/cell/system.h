/* system.h: the kernel's calls for tfy-cell, which no C library is linked to. One would ask the processor for its
 * features before main: where a virtual machine answers, that takes longer than all walls of a partial cell.
 *
 * Results are the kernel's: a negative errno value is a failure; there is no errno. Functions of <string.h> that the
 * cell calls are in system.c; headers of the C library give types and constants only. */
#ifndef TFY_CELL_SYSTEM_H
#define TFY_CELL_SYSTEM_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

#if defined(__x86_64__)

static inline long cell_call(long number, long a, long b, long c, long d, long e, long f)
{
    register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

#elif defined(__aarch64__)

static inline long cell_call(long number, long a, long b, long c, long d, long e, long f)
{
    register long x8 __asm__("x8") = number, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d, x4 __asm__("x4") = e, x5 __asm__("x5") = f;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
    return x0;
}

#else
#error "the calls of this architecture are not known here, and make_calls.c has no filters for it"
#endif

#define CALL6(name, a, b, c, d, e, f)                                                                                  \
    cell_call(SYS_##name, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))
#define CALL5(name, a, b, c, d, e) CALL6(name, a, b, c, d, e, 0)
#define CALL4(name, a, b, c, d)    CALL6(name, a, b, c, d, 0, 0)
#define CALL3(name, a, b, c)       CALL6(name, a, b, c, 0, 0, 0)
#define CALL2(name, a, b)          CALL6(name, a, b, 0, 0, 0, 0)
#define CALL1(name, a)             CALL6(name, a, 0, 0, 0, 0, 0)

/* A child that borrows this process's memory; this process sleeps until the child executes a program or exits. */
__attribute__((returns_twice)) long cell_vfork(void);

__attribute__((noreturn)) void cell_exit(int status);

/* As the process was given it. */
extern char **cell_environment;

/* ---- text ---- */

/* A path that is put together, or a few words. */
typedef struct CellText {
    size_t len;
    bool too_long; /* something did not fit, and nothing was added since */
    char at[PATH_MAX];
} CellText;

/* Makes it empty. */
void cell_text_init(CellText *text);
void cell_text_add(CellText *text, const char *more, size_t len);
void cell_text_number(CellText *text, uint64_t number);

/* ---- directories ---- */

/* Entries of a directory, in the kernel's order, without "." and "..". */
typedef struct CellEntries {
    int file;     /* the directory, opened for reading; the caller's */
    long len, at; /* bytes that are in room, and where the next entry starts */
    uint64_t room[512];
} CellEntries;

typedef struct CellEntry {
    const char *name;   /* until the next call */
    unsigned char type; /* DT_REG …; DT_UNKNOWN: the file system does not say */
} CellEntry;

void cell_entries_init(CellEntries *entries, int file);
/* 1: *entry is the next one; 0: there are no more; or a negative errno value. */
long cell_next_entry(CellEntries *entries, CellEntry *entry);

#endif

/* system.c: what a C library would do for tfy-cell: its start, strings, and what few calls need more than one line. */
#include "cell/system.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>

char **cell_environment;

int main(int argc, char **argv);

/* The kernel starts a process with its arguments on the stack: their count, each of them, NULL, the environment. */
__attribute__((noreturn, used)) static void begin(long *stack)
{
    char **argv = (char **)(stack + 1);
    cell_environment = argv + stack[0] + 1;
    cell_exit(main((int)stack[0], argv));
}

/* cell_vfork must not return to an address on the stack: the child, which comes first, overwrites it. */
#if defined(__x86_64__)
__asm__(".text\n"
        ".globl _start\n"
        ".type _start, @function\n"
        "_start:\n"
        "    xor %ebp, %ebp\n"
        "    mov %rsp, %rdi\n"
        "    and $-16, %rsp\n"
        "    call begin\n"
        ".globl cell_vfork\n"
        ".type cell_vfork, @function\n"
        "cell_vfork:\n"
        "    pop %rdi\n"
        "    mov $58, %eax\n"
        "    syscall\n"
        "    push %rdi\n"
        "    ret\n");
#else
__asm__(".text\n"
        ".globl _start\n"
        ".type _start, %function\n"
        "_start:\n"
        "    mov x29, xzr\n"
        "    mov x0, sp\n"
        "    b begin\n"
        ".globl cell_vfork\n"
        ".type cell_vfork, %function\n"
        "cell_vfork:\n"
        "    mov x0, 0x4111\n" /* CLONE_VFORK, CLONE_VM, SIGCHLD */
        "    mov x1, xzr\n"
        "    mov x2, xzr\n"
        "    mov x3, xzr\n"
        "    mov x4, xzr\n"
        "    mov x8, 220\n"
        "    svc 0\n"
        "    ret\n");
#endif

void cell_exit(int status)
{
    for (;;) CALL1(exit_group, status);
}

/* ---- strings: short ones, so the plain way is the fast one ---- */

void *memcpy(void *restrict to, const void *restrict from, size_t len)
{
    char *out = to;
    for (const char *in = from; len; len--) *out++ = *in++;
    return to;
}

void *memset(void *to, int byte, size_t len)
{
    for (char *out = to; len; len--) *out++ = (char)byte;
    return to;
}

void *memchr(const void *in, int byte, size_t len)
{
    for (const unsigned char *at = in; len; at++, len--)
        if (*at == (unsigned char)byte) return (void *)at;
    return NULL;
}

size_t strlen(const char *text)
{
    const char *end = text;
    while (*end) end++;
    return (size_t)(end - text);
}

int strncmp(const char *a, const char *b, size_t len)
{
    for (; len; a++, b++, len--)
        if (*a != *b || !*a) return (unsigned char)*a - (unsigned char)*b;
    return 0;
}

int strcmp(const char *a, const char *b)
{
    return strncmp(a, b, SIZE_MAX);
}

char *strchr(const char *text, int byte)
{
    for (; *text != (char)byte; text++)
        if (!*text) return NULL;
    return (char *)text;
}

size_t strcspn(const char *text, const char *bytes)
{
    const char *end = text;
    while (*end && !strchr(bytes, *end)) end++;
    return (size_t)(end - text);
}

void cell_text_init(CellText *text)
{
    text->len = 0;
    text->too_long = false;
    text->at[0] = 0;
}

void cell_text_add(CellText *text, const char *more, size_t len)
{
    if (text->too_long || len >= sizeof text->at - text->len) {
        text->too_long = true;
        return;
    }
    memcpy(text->at + text->len, more, len);
    text->len += len;
    text->at[text->len] = 0;
}

void cell_text_number(CellText *text, uint64_t number)
{
    char digits[20], *at = digits + sizeof digits;
    do *--at = (char)('0' + number % 10);
    while (number /= 10);
    cell_text_add(text, at, (size_t)(digits + sizeof digits - at));
}

/* ---- directories ---- */

/* As the kernel writes them. */
struct directory_entry {
    uint64_t inode;
    int64_t offset;
    uint16_t len;
    uint8_t type;
    char name[];
};

void cell_entries_init(CellEntries *entries, int file)
{
    entries->file = file;
    entries->len = entries->at = 0;
}

long cell_next_entry(CellEntries *entries, CellEntry *entry)
{
    for (;;) {
        if (entries->at == entries->len) {
            entries->at = 0;
            entries->len = CALL3(getdents64, entries->file, entries->room, sizeof entries->room);
            if (entries->len <= 0) return entries->len;
        }
        const struct directory_entry *next = (const void *)((const char *)entries->room + entries->at);
        entries->at += next->len;
        if (strcmp(next->name, ".") == 0 || strcmp(next->name, "..") == 0) continue;
        *entry = (CellEntry){.name = next->name, .type = next->type};
        return 1;
    }
}

/* shell_word.c: a word as a shell reads it back. */
#include "base/buffer.h"

#include <string.h>

void tfy__buffer_shell_word(TfyBuffer *buffer, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+-:=@%,";
    const char *around = *word && !word[strspn(word, plain)] ? "" : "'";
    tfy__buffer_printf(buffer, "%s", around);
    for (;; word++) {
        const size_t len = strcspn(word, "'");
        tfy__buffer_printf(buffer, "%.*s%s", (int)len, word, word[len] ? "'\\''" : around);
        word += len;
        if (!*word) return;
    }
}

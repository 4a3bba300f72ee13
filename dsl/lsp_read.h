/* lsp_read.h: from a stream of bytes to the bodies of messages.
 *
 * A message is a head of lines ("Content-Length: 123"), an empty line, and a body of so many bytes. Memory is
 * bounded whatever the head claims: a body that is too large is passed over without being kept, and behind a head
 * that makes no sense reading continues at the next "Content-Length:". */
#ifndef DSL_LSP_READ_H
#define DSL_LSP_READ_H

#include "arena.h"

enum {
    LSP_HEAD_MAX = 4096, /* bytes of a message's head */
    /* bytes of a body; the tree made of it takes up to twenty times as much */
    LSP_BODY_MAX = 8 << 20,
    LSP_SKIP_MAX = 1 << 30, /* a header that claims more is a mistake */
    /* a buffer that one large message made larger is released */
    LSP_BUFFER_KEPT = 1 << 20,
};

typedef enum LspReadResult {
    LSP_READ_MORE,    /* nothing whole is there */
    LSP_READ_MESSAGE, /* a body */
    /* a head without a length that makes sense; it is passed over */
    LSP_READ_BAD_HEAD,
    LSP_READ_TOO_LARGE, /* a body that is passed over */
} LspReadResult;

typedef struct LspReader {
    Arena arena;  /* of the bytes */
    char *bytes;  /* what has arrived */
    size_t len;   /* bytes there */
    size_t at;    /* bytes at their beginning that are used up */
    uint32_t cap; /* bytes there is room for */
    size_t skip;  /* bytes of a body still to be passed over */
} LspReader;

void lsp_reader_deinit(LspReader *reader);
void lsp_reader_feed(LspReader *reader, const char *bytes, size_t len);

/* Takes the next thing out. A body is valid until the next call. */
LspReadResult lsp_reader_next(LspReader *reader, const char **body, size_t *len);

#endif

/* llm_form.h: the wire forms that endpoints of models speak. One file each: llm_chat.c, llm_messages.c and
 * llm_responses.c.
 *
 * The neutral form, which requests, records and recorded sessions have, is
 *
 *   {"messages": [...], "model": "...", "most": N?, "schema": {...}?, "tools": [{"name", "description", "schema"}]?}
 *
 * with the messages
 *
 *   {"role": "system" | "user", "content": "..."}
 *   {"role": "user", "content": "PATH\nPATH", "files": [{"hash", "kind"}]}       before the first of the others
 *   {"role": "assistant", "content": "...", "calls": [{"id", "tool", "args"}]?, "opaque": {"from", "items"}?}
 *   {"role": "tool", "content": "...", "id": "..."}
 *
 * A summary of other messages has a member `left_out` (value/thread_short.c), which is not sent.
 *
 * What only one provider understands, such as its model's reasoning, is opaque: it is sent back as it came to the model that
 * it is from, a name of the file of models, and left out for all others.
 *
 * A body begins with the bytes of the body before it in the same conversation, so that endpoints need not read them
 * again. Nor are they written again: the messages of a conversation are kept as a form has written them (TfyLlmWire), and
 * only what is new is added (llm_talk.h). */
#ifndef EFFECTS_LLM_FORM_H
#define EFFECTS_LLM_FORM_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "effects/llm_plain.h"
#include "effects/llm_stream.h"

/* A file that is sent along. */
typedef struct TfyLlmFile {
    char *path;       /* below the root; owned */
    const char *kind; /* "image/png"; static */
    int64_t size;     /* bytes */
    char hash[33];    /* XXH3-128 of the bytes, in hex */
    TfyBuffer data;   /* the bytes, in base64 */
} TfyLlmFile;
#define TFY_LLM_PDF "application/pdf" /* the only kind that is not an image */

typedef struct TfyLlmFiles {
    uint32_t count;
    TfyLlmFile items[];
} TfyLlmFiles;

void tfy__llm_files_free(TfyLlmFiles *files); /* NULL is allowed */

/* What an answer holds. */
typedef struct TfyLlmParts {
    json_t *text;              /* a string, owned; NULL: it has none */
    json_t *calls;             /* a list of {id, tool, args}, owned; NULL: none */
    json_t *opaque;            /* a list of items that only this provider understands, owned; NULL: none */
    const json_t *refusal;     /* a string: why the model does not answer; NULL: it answers */
    const json_t *model;       /* a string, as the endpoint names it, or NULL */
    const char *finish_reason; /* "stop", "length", …; "": the endpoint gave none */
    int64_t prompt_tokens, completion_tokens, cached_tokens; /* -1: unknown */
} TfyLlmParts;

struct TfyLlmForm;

/* The messages of a conversation in a wire form. All zero, but for the form, before the first. */
typedef struct TfyLlmWire {
    const struct TfyLlmForm *form;
    const char *from;         /* the model whose opaque items are sent; NULL: none are. Borrowed */
    uint32_t count;           /* messages */
    size_t met;               /* bytes of these in the talk's text */
    TfyBuffer text;           /* the items of the form's list of messages, with commas between them */
    TfyBuffer system;         /* messages: the same of the system text's parts */
    const char *open;         /* messages: the role of the newest item, whose parts may go on; NULL: there is none */
    json_t *called;           /* messages: stubs of the tools that were called; owned; NULL: none */
    const TfyLlmFiles *files; /* the bytes of files in messages that are added now; NULL: there are none */
} TfyLlmWire;

/* What else a body is made of. */
typedef struct TfyLlmAsked {
    const char *model;      /* as the endpoint calls it */
    const char *name;       /* the schema's */
    const char *effort;     /* of its reasoning: "high"; NULL: nothing is said */
    int64_t most;           /* tokens of the answer; 0: nothing is said */
    const json_t *schema;   /* of the answer; NULL: none */
    const TfyBuffer *tools; /* as the form writes them, with commas between them; NULL: none are offered */
    bool streams;           /* in a stream */
} TfyLlmAsked;

typedef struct TfyLlmForm {
    const char *api;   /* its name among the models: "chat" */
    const char *path;  /* what an address ends with: "/chat/completions" */
    const char *place; /* where its text is, for messages */
    const char *key;   /* the header line before the key */
    const char *fixed; /* one more header line, or NULL */
    /* Adds a message to the end. Without memory a buffer of the wire has failed. */
    void (*add)(TfyLlmWire *wire, const json_t *message);
    /* The same of a plain one, with the same bytes. NULL: the form takes none. */
    void (*add_plain)(TfyLlmWire *wire, const TfyLlmPlain *message);
    /* A tool in this form; the caller owns it. NULL: no memory. */
    json_t *(*tool)(const json_t *tool);
    /* Appends the body of a request. */
    void (*body)(TfyBuffer *out, const TfyLlmWire *wire, const TfyLlmAsked *asked);
    /* Reads a response. False: it holds no message. The parts are all zero before. */
    bool (*read)(const json_t *response, TfyLlmParts *parts);
    /* Takes an event of a stream. */
    void (*take)(TfyLlmStream *stream, const json_t *event);
    /* The response that the events add up to; the caller owns it. NULL: no memory. */
    json_t *(*whole)(const TfyLlmStream *stream);
} TfyLlmForm;

extern const TfyLlmForm tfy__llm_chat, tfy__llm_messages, tfy__llm_responses;

const TfyLlmForm *tfy__llm_form_named(const char *api); /* NULL: there is none */

/* ---- what they share (llm_form.c) ---- */

enum { TFY_LLM_MOST = 8192 }; /* tokens of an answer, if nothing is said */

/* Appends an item to a list that is being written, with a comma before it unless it is the first. It takes the item; NULL
 * fails the buffer. */
void tfy__llm_add_item(TfyBuffer *list, json_t *item);
/* Appends ,"name":value and takes the value. NULL fails the buffer. */
void tfy__llm_add_member(TfyBuffer *out, const char *name, json_t *value);
void tfy__llm_add_tools(TfyBuffer *out, const TfyBuffer *tools); /* ,"tools":[…]; NULL: nothing */
void tfy__llm_wire_free(TfyLlmWire *wire);                       /* it is all zero afterwards */

/* What a message has of the model that is asked; NULL: nothing. */
const json_t *tfy__llm_opaque(const TfyLlmWire *wire, const json_t *message);
/* Appends ,"OBJECT":{"effort":"…"}; nothing if nothing is said. */
void tfy__llm_add_effort(TfyBuffer *out, const char *object, const TfyLlmAsked *asked);
/* The file of a message that has this number among its files; NULL: there is none, or its bytes are not here. */
const TfyLlmFile *tfy__llm_file_at(const TfyLlmWire *wire, const json_t *message, size_t number);
json_t *tfy__llm_data_url(const TfyLlmFile *file);      /* "data:image/png;base64,…"; NULL: no memory */
const char *tfy__llm_file_name(const TfyLlmFile *file); /* without its directories */

/* A call in the neutral form. args: an object, or the text of one; what is no object, or nests deeper than a record may,
 * stays a text and does not fit. */
json_t *tfy__llm_call(const json_t *id, const json_t *tool, const json_t *args);
/* The arguments as the text that endpoints want; malloc'ed. */
char *tfy__llm_args_text(const json_t *call);
/* The strings `member` of the parts of a list, joined; parts whose `type` is another are left out. type NULL: all. NULL:
 * there is none. The caller owns it. */
json_t *tfy__llm_joined(const json_t *parts, const char *type, const char *member);
int64_t tfy__llm_count(const json_t *usage, const char *name); /* -1: it has none */
/* The HTTP status that an error in a stream stands for: 429 and from 500 on, the endpoint may be asked again. */
int tfy__llm_error_status(const json_t *error);

#endif

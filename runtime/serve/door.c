/* door.c: see door.h: what is in memory, and who is looked up. */
#include "serve/door.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/sha256.h"
#include "base/table.h"
#include "serve/door_file.h"
#include "serve/serve.h"

enum {
    IDLE_MS = 12 * 3600 * 1000,        /* a session that nobody uses ends */
    SESSION_MS = 7 * 24 * 3600 * 1000, /* … and each does */
    CODE_MS = 10 * 60 * 1000,
    CODES_MOST = 64,
    KEEP_MS = 60 * 1000,
    RANDOM = 20, /* bytes of a secret: 32 characters of five bits */
};

/* A token or a session. */
typedef struct Entry {
    TfyLink link;
    TfyDoorRow row;
    bool unkept;        /* it was used since the file had that */
    double left;        /* requests that it may make at once … */
    int64_t counted_ms; /* … at this time */
} Entry;

typedef struct Code {
    uint8_t hash[TFY_SHA256_SIZE];
    TfyCaller caller;
    int64_t until_ms; /* 0: it is not in use */
} Code;

struct TfyDoor {
    TfyServeFile *file;
    pthread_mutex_t writing; /* held for the file, and around changes of both */
    pthread_mutex_t mutex;   /* held for the rest, and never while the file is written */
    TfyTable entries;        /* by the start of their hashes */
    Code codes[CODES_MOST];
    int64_t kept_ms;
};

/* ---- secrets ---- */

bool tfy__secret_make(const char *name, char secret[TFY_SECRET_SIZE])
{
    static const char digits[] = "abcdefghijklmnopqrstuvwxyz234567";
    uint8_t bytes[RANDOM];
    if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes) return false;
    size_t len = name ? (size_t)snprintf(secret, TFY_SECRET_SIZE, "tfy_%s_", name) : 0;
    uint32_t bits = 0;
    int count = 0;
    for (int i = 0; i < RANDOM; i++) {
        bits = bits << 8 | bytes[i];
        for (count += 8; count >= 5; count -= 5) secret[len++] = digits[bits >> (count - 5) & 31];
    }
    secret[len] = '\0';
    return true;
}

static void hash_of(const char *secret, uint8_t hash[TFY_SHA256_SIZE])
{
    tfy__sha256(secret, strlen(secret), hash);
}

/* Takes as long whatever differs. */
static bool same_hash(const uint8_t *a, const uint8_t *b)
{
    unsigned differs = 0;
    for (int i = 0; i < TFY_SHA256_SIZE; i++) differs |= a[i] ^ b[i];
    return !differs;
}

/* ---- in memory ---- */

static uint64_t place_of(const uint8_t *hash)
{
    uint64_t place;
    memcpy(&place, hash, sizeof place);
    return place;
}

static Entry *find(TfyDoor *door, const uint8_t *hash)
{
    TfyLink *link = tfy__table_find(&door->entries, place_of(hash));
    while (link && !same_hash(TABLE_ITEM(link, Entry, link)->row.hash, hash)) link = tfy__table_next(link);
    return TABLE_ITEM(link, Entry, link);
}

static Entry *find_token(TfyDoor *door, const char *name)
{
    for (TfyLink *link = NULL; (link = tfy__table_walk(&door->entries, link));) {
        Entry *entry = TABLE_ITEM(link, Entry, link);
        if (!entry->row.session && strcmp(entry->row.token.name, name) == 0) return entry;
    }
    return NULL;
}

static bool remember(void *arg, const TfyDoorRow *row)
{
    TfyDoor *door = arg;
    Entry *entry = calloc(1, sizeof *entry);
    if (!entry || !tfy__table_reserve(&door->entries)) {
        free(entry);
        return false;
    }
    entry->row = *row;
    entry->left = 2.0 * (double)row->token.rate;
    tfy__table_add(&door->entries, &entry->link, place_of(row->hash));
    return true;
}

static void forget(TfyDoor *door, Entry *entry)
{
    tfy__table_remove(&door->entries, &entry->link);
    free(entry);
}

static bool is_over(const Entry *entry, int64_t now)
{
    const TfyToken *token = &entry->row.token;
    if (token->expires_ms && now >= token->expires_ms) return true;
    return entry->row.session && (now >= token->created_ms + SESSION_MS || now >= token->used_ms + IDLE_MS);
}

/* ---- who it is ---- */

/* As many a second as its rate, and twice as many at once. */
static bool is_too_fast(Entry *entry, int64_t now)
{
    const double rate = (double)entry->row.token.rate;
    if (!entry->row.token.rate) return false;
    if (now > entry->counted_ms) entry->left += rate * (double)(now - entry->counted_ms) / 1000;
    if (entry->left > 2 * rate) entry->left = 2 * rate;
    entry->counted_ms = now;
    if (entry->left < 1) return true;
    entry->left -= 1;
    return false;
}

static void fill(const Entry *entry, TfyCaller *caller)
{
    const TfyToken *token = &entry->row.token;
    snprintf(caller->name, sizeof caller->name, "%s", entry->row.session ? entry->row.person : token->name);
    snprintf(caller->token, sizeof caller->token, "%s", token->name);
    memcpy(caller->only, token->only, sizeof caller->only);
    caller->roles = token->roles;
    caller->has_shown = true;
    memcpy(caller->shown, entry->row.hash, sizeof caller->shown);
}

static TfyKnown use(TfyDoor *door, Entry *entry, TfyCaller *caller)
{
    const int64_t now = tfy__clock_ms();
    if (!entry || is_over(entry, now)) return TFY_KNOWN_NOT;
    fill(entry, caller);
    entry->row.token.used_ms = now;
    entry->unkept = true;
    return is_too_fast(entry, now) ? TFY_KNOWN_FAST : TFY_KNOWN;
}

static TfyKnown look_up(TfyDoor *door, const char *secret, bool session, TfyCaller *caller)
{
    uint8_t hash[TFY_SHA256_SIZE];
    hash_of(secret, hash);
    pthread_mutex_lock(&door->mutex);
    Entry *entry = find(door, hash);
    const TfyKnown known = use(door, entry && entry->row.session == session ? entry : NULL, caller);
    pthread_mutex_unlock(&door->mutex);
    return known;
}

TfyKnown tfy__door_token(TfyDoor *door, const char *secret, TfyCaller *caller)
{
    return look_up(door, secret, false, caller);
}

TfyKnown tfy__door_session(TfyDoor *door, const char *session, TfyCaller *caller)
{
    return look_up(door, session, true, caller);
}

bool tfy__door_holds(TfyDoor *door, const TfyCaller *caller)
{
    if (!caller->has_shown) return true;
    pthread_mutex_lock(&door->mutex);
    const Entry *entry = find(door, caller->shown);
    const bool holds = entry && !is_over(entry, tfy__clock_ms());
    pthread_mutex_unlock(&door->mutex);
    return holds;
}

TfyKnown tfy__door_named(TfyDoor *door, const char *name, TfyCaller *caller)
{
    pthread_mutex_lock(&door->mutex);
    const TfyKnown known = use(door, find_token(door, name), caller);
    pthread_mutex_unlock(&door->mutex);
    return known;
}

/* ---- changes ---- */

/* In the file first: what is in memory works. */
static int put(TfyDoor *door, const TfyDoorRow *row)
{
    pthread_mutex_lock(&door->writing);
    int code = tfy__door_file_put(door->file, row);
    pthread_mutex_lock(&door->mutex);
    if (code == TFY_OK && !remember(door, row)) code = TFY_E_NOMEM;
    pthread_mutex_unlock(&door->mutex);
    pthread_mutex_unlock(&door->writing);
    return code;
}

int tfy__door_add(TfyDoor *door, const TfyToken *token, const char *secret)
{
    TfyDoorRow row = {.token = *token};
    hash_of(secret, row.hash);
    return put(door, &row);
}

int tfy__door_revoke(TfyDoor *door, const char *name)
{
    pthread_mutex_lock(&door->writing);
    const int code = tfy__door_file_drop(door->file, name);
    pthread_mutex_lock(&door->mutex);
    for (TfyLink *link = NULL, *next = tfy__table_walk(&door->entries, NULL); code == TFY_OK && (link = next);) {
        Entry *entry = TABLE_ITEM(link, Entry, link);
        next = tfy__table_walk(&door->entries, link);
        if (strcmp(entry->row.token.name, name) == 0) forget(door, entry);
    }
    pthread_mutex_unlock(&door->mutex);
    pthread_mutex_unlock(&door->writing);
    return code;
}

static json_t *time_or_null(int64_t ms)
{
    return ms ? tfy__json_time(ms) : json_null();
}

static json_t *token_json(const TfyToken *token)
{
    json_t *only = json_array();
    char globs[TFY_ONLY_SIZE];
    memcpy(globs, token->only, sizeof globs);
    for (char *rest = globs, *glob; (glob = strtok_r(rest, " ", &rest));)
        json_array_append_new(only, json_string(glob));
    return json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "name", token->name, "roles", tfy__roles_json(token->roles),
                     "only", only, "created", tfy__json_time(token->created_ms), "expires",
                     time_or_null(token->expires_ms), "used", time_or_null(token->used_ms), "rate",
                     token->rate ? json_integer(token->rate) : json_null());
}

static int by_name(const void *a, const void *b)
{
    const json_t *const *left = a, *const *right = b;
    return strcmp(json_string_value(json_object_get(*left, "name")),
                  json_string_value(json_object_get(*right, "name")));
}

json_t *tfy__door_list(TfyDoor *door)
{
    json_t *list = json_array(), **tokens;
    size_t count = 0;
    pthread_mutex_lock(&door->mutex);
    tokens = calloc(door->entries.count + 1, sizeof *tokens);
    for (TfyLink *link = NULL; tokens && (link = tfy__table_walk(&door->entries, link));) {
        const Entry *entry = TABLE_ITEM(link, Entry, link);
        if (!entry->row.session) tokens[count++] = token_json(&entry->row.token);
    }
    pthread_mutex_unlock(&door->mutex);
    if (count) qsort(tokens, count, sizeof *tokens, by_name);
    for (size_t i = 0; i < count; i++) json_array_append_new(list, tokens[i]);
    free(tokens);
    return list;
}

/* ---- sessions ---- */

/* An old code makes room for a new one. */
bool tfy__door_code(TfyDoor *door, const TfyCaller *caller, char code[TFY_SECRET_SIZE])
{
    if (!tfy__secret_make(NULL, code)) return false;
    pthread_mutex_lock(&door->mutex);
    Code *place = door->codes;
    for (Code *other = door->codes; other < door->codes + CODES_MOST; other++)
        if (other->until_ms < place->until_ms) place = other;
    hash_of(code, place->hash);
    place->caller = *caller;
    place->until_ms = tfy__clock_ms() + CODE_MS;
    pthread_mutex_unlock(&door->mutex);
    return true;
}

static bool take_code(TfyDoor *door, const uint8_t *hash, TfyCaller *caller)
{
    bool found = false;
    const int64_t now = tfy__clock_ms();
    for (Code *code = door->codes; code < door->codes + CODES_MOST; code++) {
        if (code->until_ms <= now || !same_hash(code->hash, hash)) continue;
        *caller = code->caller;
        code->until_ms = 0;
        found = true;
    }
    return found;
}

/* A session of a token ends with it. */
static bool identify(TfyDoor *door, const char *secret, TfyCaller *caller, TfyToken *token)
{
    uint8_t hash[TFY_SHA256_SIZE];
    hash_of(secret, hash);
    pthread_mutex_lock(&door->mutex);
    Entry *entry = find(door, hash);
    bool known = entry && !entry->row.session && use(door, entry, caller) != TFY_KNOWN_NOT;
    if (known) *token = entry->row.token;
    if (!known && (known = take_code(door, hash, caller))) {
        *token = (TfyToken){.roles = caller->roles, .rate = TFY_RATE_USUAL};
        snprintf(token->name, sizeof token->name, "%.*s", TFY_TOKEN_NAME, caller->token);
        memcpy(token->only, caller->only, sizeof token->only);
    }
    pthread_mutex_unlock(&door->mutex);
    return known;
}

int tfy__door_enter(TfyDoor *door, const char *secret, TfyCaller *caller, char session[TFY_SECRET_SIZE])
{
    TfyDoorRow row = {.session = true};
    if (!identify(door, secret, caller, &row.token)) return TFY_E_ABSENT;
    if (!tfy__secret_make(NULL, session)) return TFY_E_IO;
    hash_of(session, row.hash);
    snprintf(row.person, sizeof row.person, "%s", caller->name);
    row.token.created_ms = row.token.used_ms = tfy__clock_ms();
    return put(door, &row);
}

int tfy__door_leave(TfyDoor *door, const char *session)
{
    uint8_t hash[TFY_SHA256_SIZE];
    hash_of(session, hash);
    pthread_mutex_lock(&door->writing);
    const int code = tfy__door_file_end(door->file, hash);
    pthread_mutex_lock(&door->mutex);
    Entry *entry = code == TFY_OK ? find(door, hash) : NULL;
    if (entry && entry->row.session) forget(door, entry);
    pthread_mutex_unlock(&door->mutex);
    pthread_mutex_unlock(&door->writing);
    return code;
}

/* ---- keeping ---- */

/* Takes what has to be written, and forgets sessions that are over: the file forgets them by itself. */
static size_t take_unkept(TfyDoor *door, TfyDoorRow **rows)
{
    const int64_t now = tfy__clock_ms();
    size_t count = 0;
    *rows = calloc(door->entries.count + 1, sizeof **rows);
    for (TfyLink *link, *next = tfy__table_walk(&door->entries, NULL); *rows && (link = next);) {
        Entry *entry = TABLE_ITEM(link, Entry, link);
        next = tfy__table_walk(&door->entries, link);
        if (entry->unkept) (*rows)[count++] = entry->row;
        entry->unkept = false;
        if (entry->row.session && is_over(entry, now)) forget(door, entry);
    }
    return count;
}

static void keep(TfyDoor *door, bool now)
{
    TfyDoorRow *rows = NULL;
    const int64_t ms = tfy__clock_ms();
    pthread_mutex_lock(&door->writing);
    pthread_mutex_lock(&door->mutex);
    const bool due = now || ms - door->kept_ms >= KEEP_MS;
    const size_t count = due ? take_unkept(door, &rows) : 0;
    if (due) door->kept_ms = ms;
    pthread_mutex_unlock(&door->mutex);
    if (due) tfy__door_file_used(door->file, rows, count, ms - SESSION_MS);
    pthread_mutex_unlock(&door->writing);
    free(rows);
}

void tfy__door_keep(TfyDoor *door)
{
    keep(door, false);
}

TfyDoor *tfy__door_open(const char *db_path, char *error)
{
    TfyDoor *door = calloc(1, sizeof *door);
    snprintf(error, TFY_ERROR_TEXT, "memory ran out");
    if (!door) return NULL;
    pthread_mutex_init(&door->writing, NULL);
    pthread_mutex_init(&door->mutex, NULL);
    door->kept_ms = tfy__clock_ms();
    door->file = tfy__serve_file_open(db_path, error);
    if (door->file && tfy__door_file_read(door->file, remember, door, error)) return door;
    tfy__door_close(door);
    return NULL;
}

void tfy__door_close(TfyDoor *door)
{
    if (!door) return;
    if (door->file) keep(door, true);
    tfy__serve_file_close(door->file);
    for (TfyLink *link; (link = tfy__table_walk(&door->entries, NULL));) forget(door, TABLE_ITEM(link, Entry, link));
    tfy__table_free(&door->entries);
    pthread_mutex_destroy(&door->writing);
    pthread_mutex_destroy(&door->mutex);
    free(door);
}

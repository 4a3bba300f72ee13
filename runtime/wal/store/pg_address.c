/* pg_address.c: see pg_address.h. */
#include "wal/store/pg_address.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/check.h"
#include "wal/store/store.h"

/* libpq takes the second one, too. */
static const char *const schemes[] = {"postgresql://", "postgres://"};

/* What is set whatever the address says, since the store relies on it. */
static const char *const fixed[][2] = {
    {"client_encoding", "UTF8"},
    {"target_session_attrs", "read-write"},
};

/* … and what is set unless the address says something else. A dead peer must show soon, on both sides. */
static const char *const usual[][2] = {
    {"connect_timeout", "2"},  {"keepalives_idle", "5"},      {"keepalives_interval", "2"},
    {"keepalives_count", "3"}, {"tcp_user_timeout", "10000"}, {"gssencmode", "disable"},
};

bool tfy__pg_is_address(const char *text)
{
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++)
        if (strncmp(text, schemes[i], strlen(schemes[i])) == 0) return true;
    return false;
}

static int add(TfyPgAddress *address, const char *keyword, const char *value)
{
    CHECK(address->count < TFY_PG_SETTINGS - 1);
    char **place = &address->keywords[address->count];
    *place = strdup(keyword);
    address->values[address->count] = strdup(value);
    if (*place && address->values[address->count]) return address->count++, 0;
    free(*place);
    free(address->values[address->count]);
    *place = address->values[address->count] = NULL;
    return TFY_E_NOMEM;
}

static const char *value_of(const TfyPgAddress *address, const char *keyword)
{
    for (int i = 0; i < address->count; i++)
        if (strcmp(address->keywords[i], keyword) == 0) return address->values[i];
    return NULL;
}

static int refuse_password(char *error_text)
{
    return tfy__log_refuse(
        error_text, TFY_E_INVALID,
        "the database's address has a password in it; write it into ~/.pgpass, or into the file that "
        "PGPASSFILE names, and leave it out of the address");
}

/* Before libpq sees it, whose messages repeat parts of an address. */
static bool has_password(const char *text)
{
    const char *authority = strstr(text, "://") + 3, *end = authority + strcspn(authority, "/?"), *at = end;
    while (at > authority && at[-1] != '@') at--;
    const bool user_info = at > authority && memchr(authority, ':', (size_t)(at - authority));
    return user_info || strstr(end, "password=");
}

/* One of our own settings; false: it is libpq's. */
static bool own_setting(TfyPgAddress *address, const char *word, size_t len, bool *wrong)
{
    static const struct {
        const char *name;
        bool plain, set;
    } known[] = {{"tfy_plain=1", true, true},
                 {"tfy_plain=0", true, false},
                 {"tfy_prepare=0", false, true},
                 {"tfy_prepare=1", false, false}};
    if (strncmp(word, "tfy_", 4) != 0) return false;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strlen(known[i].name) != len || strncmp(known[i].name, word, len) != 0) continue;
        *(known[i].plain ? &address->plain : &address->unprepared) = known[i].set;
        return true;
    }
    return *wrong = true;
}

/* Takes our settings out of the part behind the question mark. */
static int strip(TfyPgAddress *address, const char *text, char *error_text)
{
    TfyBuffer rest = {0};
    const char *word = strchr(text, '?');
    char between = '?';
    bool wrong = false;
    tfy__buffer_add(&rest, text, word ? (size_t)(word - text) : strlen(text));
    for (size_t len; word && *word; word += len) {
        word++;
        len = strcspn(word, "&");
        if (own_setting(address, word, len, &wrong)) {
            if (wrong) break;
            continue;
        }
        tfy__buffer_char(&rest, between);
        tfy__buffer_add(&rest, word, len);
        between = '&';
    }
    if (wrong)
        tfy__log_refuse(error_text, TFY_E_INVALID,
                        "'%.*s' is not a setting of a database's address; tfy_plain=1 and tfy_prepare=0 are",
                        (int)(strcspn(word, "&") < 80 ? strcspn(word, "&") : 80), word);
    if (!wrong && !rest.failed && (address->text = strdup(rest.data))) {
        tfy__buffer_free(&rest);
        return 0;
    }
    tfy__buffer_free(&rest);
    return wrong ? TFY_E_INVALID : TFY_E_NOMEM;
}

static int take_settings(TfyPgAddress *address, const TfyPgApi *api, char *error_text)
{
    char *why = NULL;
    TfyPgSetting *settings = api->conninfoParse(address->text, &why);
    int code = 0;
    if (!settings) {
        code = tfy__log_refuse(error_text, TFY_E_INVALID, "%.200s is not the address of a database: %.*s",
                               address->text, why ? (int)strcspn(why, "\n") : 13, why ? why : "out of memory");
        api->freemem(why);
        return code;
    }
    for (const TfyPgSetting *at = settings; !code && at->keyword; at++) {
        if (!at->val) continue;
        const bool secret = strcmp(at->keyword, "password") == 0 || strcmp(at->keyword, "sslpassword") == 0;
        code = secret ? refuse_password(error_text) : add(address, at->keyword, at->val);
    }
    api->conninfoFree(settings);
    return code;
}

/* Whether all hosts are sockets of this machine. */
static bool is_local(const TfyPgAddress *address)
{
    const char *hosts = value_of(address, "host");
    if (value_of(address, "hostaddr") || getenv("PGHOSTADDR") || value_of(address, "service") || getenv("PGSERVICE"))
        return false;
    if (!hosts || !*hosts) hosts = getenv("PGHOST");
    for (const char *host = hosts; host && *host; host += strcspn(host, ","), host += *host == ',')
        if (*host != '/' && *host != '@' && *host != ',') return false;
    return true;
}

static bool is_fixed(const char *keyword)
{
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        if (strcmp(fixed[i][0], keyword) == 0) return true;
    return strcmp(keyword, "application_name") == 0;
}

static void remove_at(TfyPgAddress *address, int at)
{
    free(address->keywords[at]);
    free(address->values[at]);
    address->count--;
    for (int i = at; i < address->count; i++) {
        address->keywords[i] = address->keywords[i + 1];
        address->values[i] = address->values[i + 1];
    }
    address->keywords[address->count] = address->values[address->count] = NULL;
}

static int check_tls(TfyPgAddress *address, char *error_text)
{
    const char *mode = value_of(address, "sslmode");
    if (address->plain || is_local(address)) return 0;
    if (!mode) return add(address, "sslmode", "verify-full");
    if (strcmp(mode, "verify-full") == 0) return 0;
    return tfy__log_refuse(error_text, TFY_E_INVALID,
                           "sslmode=%.40s does not prove which server answers; use sslmode=verify-full, or tfy_plain=1 "
                           "where nobody else can reach the network",
                           mode);
}

static int add_own(TfyPgAddress *address, const char *name)
{
    int code = 0;
    for (int i = address->count - 1; i >= 0; i--)
        if (is_fixed(address->keywords[i])) remove_at(address, i);
    for (size_t i = 0; !code && i < sizeof fixed / sizeof *fixed; i++) code = add(address, fixed[i][0], fixed[i][1]);
    for (size_t i = 0; !code && i < sizeof usual / sizeof *usual; i++)
        if (!value_of(address, usual[i][0])) code = add(address, usual[i][0], usual[i][1]);
    return code ? code : add(address, "application_name", name);
}

int tfy__pg_address_read(TfyPgAddress *address, const TfyPgApi *api, const char *text, const char *name,
                         char *error_text)
{
    *address = (TfyPgAddress){0};
    if (!tfy__pg_is_address(text))
        return tfy__log_refuse(error_text, TFY_E_INVALID, "the address of a database begins with postgresql://");
    if (has_password(text)) return refuse_password(error_text);
    int code = strip(address, text, error_text);
    if (!code) code = take_settings(address, api, error_text);
    if (!code) code = check_tls(address, error_text);
    if (!code) code = add_own(address, name);
    return code == TFY_E_NOMEM ? tfy__log_refuse(error_text, code, "no memory for the database's address") : code;
}

int tfy__pg_address_name(TfyPgAddress *address, const char *name)
{
    char *copy = strdup(name);
    int at = 0;
    if (!copy) return TFY_E_NOMEM;
    while (strcmp(address->keywords[at], "application_name") != 0) CHECK(++at < address->count);
    free(address->values[at]);
    address->values[at] = copy;
    return 0;
}

void tfy__pg_address_free(TfyPgAddress *address)
{
    while (address->count) remove_at(address, address->count - 1);
    free(address->text);
    *address = (TfyPgAddress){0};
}

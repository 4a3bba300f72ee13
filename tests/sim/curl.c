/* curl.c: stands in for libcurl where it sends: easy handles and the multi interface, as far as the runtime uses them. A transfer is a question
 * to sim_models_asked when it is added, and ends when the simulated clock has reached the moment of its answer; until then the runtime's own
 * timer, which the multi interface asks for, is all that is needed. Addresses, lists and texts of errors are libcurl's. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#define CURL_DISABLE_TYPECHECK
#include "models.h"

#undef curl_easy_setopt
#undef curl_easy_getinfo
#undef curl_multi_setopt

enum { MS = 1000000, PIECE = 700 };

typedef struct Easy {
    struct Easy *next; /* of those that were added */
    char *url;
    curl_off_t body_len;
    curl_read_callback read;
    curl_write_callback write;
    void *read_arg, *write_arg, *private;
    long timeout_ms;
    SimAnswer answer;
    struct curl_header header;
    int64_t due_ns;
    CURLcode result;
    bool over; /* its end is to be read */
    CURLMsg message;
} Easy;

typedef struct Multi {
    curl_multi_timer_callback timer;
    void *timer_arg;
} Multi;

static Multi the_multi;
static Easy *added;

time_t __wrap_time(time_t *out);

/* The wall clock in seconds: a date in Retry-After is compared with it. */
time_t __wrap_time(time_t *out)
{
    const time_t now = (time_t)((SIM_WALL_MS + sim.now_ns / MS) / 1000);
    if (out) *out = now;
    return now;
}

void sim_curl_die(void)
{
    added = NULL;
    the_multi = (Multi){.timer = NULL};
}

/* ---- one request ---- */

CURLcode curl_global_init_mem(long flags, curl_malloc_callback m, curl_free_callback f, curl_realloc_callback r,
                              curl_strdup_callback s, curl_calloc_callback c)
{
    return CURLE_OK;
}

void curl_global_cleanup(void)
{
}

CURL *curl_easy_init(void)
{
    return calloc(1, sizeof(Easy));
}

void curl_easy_cleanup(CURL *handle)
{
    Easy *easy = handle;
    if (!easy) return;
    tfy__buffer_free(&easy->answer.body);
    free(easy->url);
    free(easy);
}

CURLcode curl_easy_setopt(CURL *handle, CURLoption option, ...)
{
    Easy *easy = handle;
    va_list args;
    va_start(args, option);
    switch ((int)option) {
    case CURLOPT_URL:
        free(easy->url);
        easy->url = strdup(va_arg(args, const char *));
        break;
    case CURLOPT_POSTFIELDSIZE_LARGE: easy->body_len = va_arg(args, curl_off_t); break;
    case CURLOPT_READFUNCTION: easy->read = va_arg(args, curl_read_callback); break;
    case CURLOPT_READDATA: easy->read_arg = va_arg(args, void *); break;
    case CURLOPT_WRITEFUNCTION: easy->write = va_arg(args, curl_write_callback); break;
    case CURLOPT_WRITEDATA: easy->write_arg = va_arg(args, void *); break;
    case CURLOPT_PRIVATE: easy->private = va_arg(args, void *); break;
    case CURLOPT_TIMEOUT_MS: easy->timeout_ms = va_arg(args, long); break;
    default: break;
    }
    va_end(args);
    return CURLE_OK;
}

CURLcode curl_easy_getinfo(CURL *handle, CURLINFO info, ...)
{
    Easy *easy = handle;
    va_list args;
    va_start(args, info);
    switch ((int)info) {
    case CURLINFO_PRIVATE: *va_arg(args, void **) = easy->private; break;
    case CURLINFO_RESPONSE_CODE: *va_arg(args, long *) = easy->over ? easy->answer.status : 0; break;
    case CURLINFO_CONTENT_TYPE: /* these endpoints answer in one piece, whatever they are asked */
        *va_arg(args, const char **) = "application/json";
        break;
    case CURLINFO_OS_ERRNO: *va_arg(args, long *) = 0; break;
    case CURLINFO_PRETRANSFER_TIME_T: *va_arg(args, curl_off_t *) = 1; break;
    default: abort();
    }
    va_end(args);
    return CURLE_OK;
}

CURLHcode curl_easy_header(CURL *handle, const char *name, size_t index, unsigned origin, int request,
                           struct curl_header **out)
{
    Easy *easy = handle;
    if (!easy->answer.header[0][0] || strcasecmp(name, easy->answer.header[0]) != 0) return CURLHE_MISSING;
    easy->header = (struct curl_header){.name = easy->answer.header[0], .value = easy->answer.header[1], .amount = 1};
    *out = &easy->header;
    return CURLHE_OK;
}

/* ---- those that are under way ---- */

static void tell_timer(void)
{
    int64_t due_ns = INT64_MAX;
    for (const Easy *easy = added; easy; easy = easy->next)
        if (!easy->over && easy->due_ns < due_ns) due_ns = easy->due_ns;
    const int64_t wait_ns = due_ns <= sim.now_ns ? 0 : due_ns - sim.now_ns;
    the_multi.timer(&the_multi, due_ns == INT64_MAX ? -1 : (long)((wait_ns + MS - 1) / MS), the_multi.timer_arg);
}

CURLM *curl_multi_init(void)
{
    return &the_multi;
}

CURLMcode curl_multi_cleanup(CURLM *multi)
{
    sim_curl_die();
    return CURLM_OK;
}

CURLMcode curl_multi_setopt(CURLM *multi, CURLMoption option, ...)
{
    va_list args;
    va_start(args, option);
    if (option == CURLMOPT_TIMERFUNCTION) the_multi.timer = va_arg(args, curl_multi_timer_callback);
    if (option == CURLMOPT_TIMERDATA) the_multi.timer_arg = va_arg(args, void *);
    va_end(args);
    return CURLM_OK;
}

/* The body, read in pieces, as libcurl does. The caller frees it. */
static char *body_of(const Easy *easy)
{
    char *body = calloc(1, (size_t)easy->body_len + 1);
    size_t len = 0, got;
    if (!body) abort();
    while ((got = easy->read(body + len, 1, (size_t)easy->body_len - len < PIECE ? (size_t)easy->body_len - len : PIECE,
                             easy->read_arg)))
        len += got;
    if (len != (size_t)easy->body_len) abort();
    return body;
}

CURLMcode curl_multi_add_handle(CURLM *multi, CURL *handle)
{
    Easy *easy = handle, **end = &added;
    tfy__buffer_free(&easy->answer.body);
    easy->answer = (SimAnswer){.result = CURLE_OK};
    easy->over = false;
    char *body = body_of(easy);
    sim_models_asked(easy->url, body, &easy->answer);
    free(body);
    const int64_t most_ns = easy->timeout_ms * MS;
    const bool late = easy->answer.delay_ns > most_ns;
    if (late) easy->answer = (SimAnswer){.result = CURLE_OPERATION_TIMEDOUT, .delay_ns = most_ns};
    easy->due_ns = sim.now_ns + easy->answer.delay_ns;
    while (*end) end = &(*end)->next;
    easy->next = NULL;
    *end = easy;
    tell_timer();
    return CURLM_OK;
}

CURLMcode curl_multi_remove_handle(CURLM *multi, CURL *handle)
{
    for (Easy **place = &added; *place; place = &(*place)->next) {
        if (*place != handle) continue;
        *place = (*place)->next;
        break;
    }
    if (the_multi.timer) tell_timer();
    return CURLM_OK;
}

/* The whole answer, in pieces. */
static void arrive(Easy *easy)
{
    sim_models_answered();
    easy->over = true;
    easy->result = easy->answer.result;
    for (size_t at = 0; at < easy->answer.body.len;) {
        size_t len = easy->answer.body.len - at < PIECE ? easy->answer.body.len - at : PIECE;
        if (easy->write(easy->answer.body.data + at, 1, len, easy->write_arg) != len) {
            easy->result = CURLE_WRITE_ERROR;
            return;
        }
        at += len;
    }
}

CURLMcode curl_multi_socket_action(CURLM *multi, curl_socket_t socket, int mask, int *running)
{
    for (Easy *easy = added; easy; easy = easy->next)
        if (!easy->over && easy->due_ns <= sim.now_ns) arrive(easy);
    *running = added != NULL;
    tell_timer();
    return CURLM_OK;
}

CURLMcode curl_multi_assign(CURLM *multi, curl_socket_t socket, void *known)
{
    return CURLM_OK;
}

CURLMsg *curl_multi_info_read(CURLM *multi, int *left)
{
    *left = 0;
    for (Easy *easy = added; easy; easy = easy->next) {
        if (!easy->over) continue;
        easy->message = (CURLMsg){.msg = CURLMSG_DONE, .easy_handle = easy, .data.result = easy->result};
        return &easy->message;
    }
    return NULL;
}

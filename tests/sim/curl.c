/* curl.c: stands in for libcurl where it sends: easy handles and the multi interface, as far as the runtime uses them. A transfer is a question
 * to sim_models_asked when it is added, and ends when the simulated clock has reached the moment of its answer; until then the runtime's own
 * timer, which the multi interface asks for, is all that is needed. A stream arrives in pieces, with pauses. Addresses, lists and texts of errors
 * are libcurl's; so is the habit of sending a request once more when a connection that was kept ends before the answer begins. */
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
    const char *body;
    curl_off_t body_len;
    curl_prereq_callback prepares;
    curl_write_callback write;
    void *prepares_arg, *write_arg, *private;
    long timeout_ms;
    SimAnswer answer;
    size_t arrived; /* bytes of its body */
    struct curl_header header;
    int64_t due_ns, until_ns; /* when the next piece comes, and when it is given up */
    CURLcode result;
    bool begun; /* something of the answer has arrived */
    bool over;  /* its end is to be read */
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

void curl_easy_reset(CURL *handle)
{
    Easy *easy = handle;
    tfy__buffer_free(&easy->answer.body);
    free(easy->url);
    *easy = (Easy){.next = NULL};
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
    case CURLOPT_POSTFIELDS: easy->body = va_arg(args, const char *); break;
    case CURLOPT_PREREQFUNCTION: easy->prepares = va_arg(args, curl_prereq_callback); break;
    case CURLOPT_PREREQDATA: easy->prepares_arg = va_arg(args, void *); break;
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
    case CURLINFO_RESPONSE_CODE: *va_arg(args, long *) = easy->begun ? easy->answer.status : 0; break;
    case CURLINFO_CONTENT_TYPE:
        *va_arg(args, const char **) = easy->answer.streams ? "text/event-stream; charset=utf-8" : "application/json";
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

static void ask(Easy *easy)
{
    char *body = strndup(easy->body, (size_t)easy->body_len);
    if (!body) abort();
    tfy__buffer_free(&easy->answer.body);
    easy->answer = (SimAnswer){.result = CURLE_OK};
    if (easy->prepares(easy->prepares_arg, NULL, NULL, 0, 0) == CURL_PREREQFUNC_OK)
        sim_models_asked(easy->url, body, &easy->answer);
    else
        easy->answer.result = CURLE_ABORTED_BY_CALLBACK;
    free(body);
}

CURLMcode curl_multi_add_handle(CURLM *multi, CURL *handle)
{
    Easy *easy = handle, **end = &added;
    easy->over = easy->begun = false;
    easy->arrived = 0;
    ask(easy);
    if (easy->answer.result == CURLE_GOT_NOTHING && sim_percent(&sim.chance, 50)) ask(easy);
    easy->until_ns = sim.now_ns + easy->timeout_ms * MS;
    const bool late = easy->answer.delay_ns > easy->timeout_ms * MS;
    if (late) easy->answer = (SimAnswer){.result = CURLE_OPERATION_TIMEDOUT, .delay_ns = easy->timeout_ms * MS};
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

static void end(Easy *easy, CURLcode result)
{
    easy->over = true;
    easy->result = result;
}

/* False: nothing more of it is wanted. */
static bool take(Easy *easy, size_t len)
{
    char *at = easy->answer.body.data + easy->arrived;
    easy->arrived += len;
    if (easy->write(at, 1, len, easy->write_arg) == len) return true;
    end(easy, CURLE_WRITE_ERROR);
    return false;
}

/* Until the next piece of a stream: mostly none, or a moment; sometimes longer than anybody waits. */
static int64_t pause_ms(void)
{
    if (sim.plan.still || sim.plan.eager || sim_percent(&sim.chance, 60)) return 0;
    return sim_percent(&sim.chance, 1) ? 400000 : sim_below(&sim.chance, sim_percent(&sim.chance, 3) ? 20000 : 60);
}

/* Some bytes of a stream, up to the next pause. It is cut anywhere. */
static void arrive_in_part(Easy *easy)
{
    for (int64_t pause = 0; !pause;) {
        const size_t left = easy->answer.body.len - easy->arrived;
        const size_t most = 1 + sim_below(&sim.chance, sim_percent(&sim.chance, 30) ? 8 : 1500);
        if (left && !take(easy, left < most ? left : most)) return;
        if (easy->arrived == easy->answer.body.len) {
            end(easy, easy->answer.result);
            return;
        }
        pause = pause_ms();
        easy->due_ns = sim.now_ns + pause * MS;
    }
    if (easy->due_ns <= easy->until_ns) return;
    easy->due_ns = easy->until_ns;
    easy->answer.body.len = easy->arrived;
    easy->answer.result = CURLE_OPERATION_TIMEDOUT;
}

/* The whole answer, in pieces. */
static void arrive(Easy *easy)
{
    while (easy->arrived < easy->answer.body.len) {
        const size_t left = easy->answer.body.len - easy->arrived;
        if (!take(easy, left < PIECE ? left : PIECE)) return;
    }
    end(easy, easy->answer.result);
}

CURLMcode curl_multi_socket_action(CURLM *multi, curl_socket_t socket, int mask, int *running)
{
    for (Easy *easy = added; easy; easy = easy->next) {
        if (easy->over || easy->due_ns > sim.now_ns) continue;
        if (!easy->begun) sim_models_answered();
        easy->begun = true;
        if (easy->answer.streams)
            arrive_in_part(easy);
        else
            arrive(easy);
    }
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

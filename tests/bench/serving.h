/* serving.h: a server of a process of its own, on the Unix socket of a database in this directory, and clients of it that are
 * connections of one thread. Whatever goes wrong ends the measurement with a sentence. */
#ifndef BENCH_SERVING_H
#define BENCH_SERVING_H

#include "bench.h"

enum { SERVING_CONNECTIONS = 1000, SERVING_TIMES = 1 << 20, SERVING_ANSWER = 64 << 10 };

typedef struct Connection {
    int fd;
    double sent;
    size_t len;
    char answer[SERVING_ANSWER];
} Connection;

typedef struct Serving {
    const char *db;      /* "bench-serve.db": its name ends with this, so that it is removed whole */
    const char *program; /* the text of bench.tfy */
    pid_t pid;
} Serving;

extern Connection serving_connections[SERVING_CONNECTIONS];
extern double serving_times[SERVING_TIMES]; /* of the newest measurement, in seconds; sorted */
extern size_t serving_time_count;

void serving_build(const Serving *serving); /* the program, without a database */
void serving_start(Serving *serving);
void serving_end(Serving *serving); /* in order */
void serving_remove(const Serving *serving);
long serving_anonymous_kib(const Serving *serving); /* memory that is the server's own */

int serving_reach(const Serving *serving); /* waits until somebody listens */
void serving_ask(Connection *connection, const char *request);
bool serving_hear(Connection *connection); /* whether the answer is whole */
/* Asks over the connection, and waits for the answer, which is to have this status. Returns its body. */
const char *serving_answer(Connection *connection, const char *request, int status);
/* The same for GET PATH over a connection of its own; the body is overwritten by the next one. */
const char *serving_get(const Serving *serving, const char *path);

/* The request that starts a run of a workflow. */
void serving_start_request(char *request, size_t size, const char *workflow, const char *args);
/* Requests a second over so many connections, for so many seconds, or until there were so many (0: no matter how many). *p99: of the
 * time until an answer, in milliseconds. */
double serving_load(const Serving *serving, const char *request, int connections, double seconds, size_t most,
                    double *p99);
/* The median of the time for a page, in milliseconds; *p99 (NULL: nobody asks): what 99 of 100 take at most. */
double serving_page(const Serving *serving, const char *path, double *p99);

#endif

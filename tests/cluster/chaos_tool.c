/* chaos_tool.c: the tool of tests/cluster/chaos.tfy, whose effect is a ledger outside the database.
 *
 *   chaos_tool work CLASS MS    writes "begin", then "alive" every few milliseconds for so long, then "end", and prints the word that stands
 *                               behind "end": nobody else can know it. For a later owner of the run it takes a quarter of that time, so
 *                               that a tool can be longer than a lease, and what was disturbed is done soon
 *   chaos_tool probe KEY        answers what became of that key: the word of its end as JSON, or null. It writes "asked", with what it says
 *
 * A line is written by one call, so the order of the lines is that of what happened:
 *
 *   WORD  KEY  FENCE  CLASS  TIME(ms)  PID  TEXT      separated by tabs; TEXT: the word of an end or of an answer, else "-"
 *
 * KEY and FENCE are TFY_KEY and TFY_FENCE; in "asked" the key is the one that was asked about. */
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

enum { ALIVE_MS = 20, LINE_BYTES = 512 };

static const char LEDGER[] = "ledger.txt";
static int ledger = -1;

static long long now_ms(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

static const char *given(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : "-";
}

/* False: the line is not there, so nothing may be said about it. */
static bool note(const char *word, const char *key, const char *kind, const char *text)
{
    char line[LINE_BYTES];
    const int len = snprintf(line, sizeof line, "%s\t%s\t%s\t%s\t%lld\t%d\t%s\n", word, key, given("TFY_FENCE"), kind,
                             now_ms(CLOCK_REALTIME), (int)getpid(), text);
    return len < (int)sizeof line && write(ledger, line, (size_t)len) == len;
}

static int work(const char *kind, long ms)
{
    const char *key = given("TFY_KEY");
    uint64_t random = 0;
    char word[32];
    if (getrandom(&random, sizeof random, 0) != sizeof random) return 1;
    snprintf(word, sizeof word, "w%016llx", (unsigned long long)random);
    if (!note("begin", key, kind, "-")) return 1;
    const long long until = now_ms(CLOCK_MONOTONIC) + (strtol(given("TFY_FENCE"), NULL, 10) > 1 ? ms / 4 : ms);
    while (now_ms(CLOCK_MONOTONIC) < until) {
        nanosleep(&(struct timespec){.tv_nsec = ALIVE_MS * 1000000L}, NULL);
        if (!note("alive", key, kind, "-")) return 1;
    }
    if (!note("end", key, kind, word)) return 1;
    return printf("%s", word) < 0 || fflush(stdout) != 0;
}

/* Copies the word of the key's end; false: there is none. */
static bool find_end(const char *key, char word[64])
{
    char line[LINE_BYTES], name[16], of[256], kind[32];
    bool found = false;
    FILE *file = fopen(LEDGER, "re");
    while (file && fgets(line, sizeof line, file)) {
        char text[64];
        if (sscanf(line, "%15s %255s %*s %31s %*s %*s %63s", name, of, kind, text) != 4) continue;
        if (strcmp(name, "end") != 0 || strcmp(of, key) != 0) continue;
        strcpy(word, text);
        found = true;
    }
    if (file) fclose(file);
    return found;
}

static int probe(const char *key)
{
    char word[64] = "null";
    const bool found = find_end(key, word);
    if (!note("asked", key, "probe", word)) return 1;
    return printf(found ? "\"%s\"" : "%s", word) < 0 || fflush(stdout) != 0;
}

int main(int argc, char **argv)
{
    ledger = open(LEDGER, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (ledger < 0) return 1;
    if (argc == 4 && strcmp(argv[1], "work") == 0) return work(argv[2], strtol(argv[3], NULL, 10));
    if (argc == 3 && strcmp(argv[1], "probe") == 0) return probe(argv[2]);
    fprintf(stderr, "usage: chaos_tool work CLASS MS | probe KEY\n");
    return 64;
}

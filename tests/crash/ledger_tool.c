/* ledger_tool LEDGER RESULT WORD…: a tool with an effect outside that can be counted: it works a little, appends one line to the ledger,
 * works a little more, and prints its result. `ledger_tool --probe LEDGER KEY` answers whether a line of that key is there: null, or the
 * result as JSON. A line is "done", the step's key, the result, and the words, separated by tabs; it is written by one call, so a tool that
 * is killed has done its work whole or not at all, and nobody but the ledger can tell which. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void work(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 3000000}, NULL);
}

static int append(const char *ledger, const char *line)
{
    int fd = open(ledger, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0) return -1;
    ssize_t written = write(fd, line, strlen(line));
    int synced = fsync(fd);
    close(fd);
    return written == (ssize_t)strlen(line) ? synced : -1;
}

static int book(int argc, char **argv)
{
    const char *key = getenv("TFY_KEY");
    char line[4096];
    int len = snprintf(line, sizeof line, "done\t%s\t%s\t", key ? key : "-", argv[2]);
    for (int i = 3; i < argc; i++)
        len += snprintf(line + len, sizeof line - (size_t)len, "%s%s", argv[i], i + 1 < argc ? " " : "");
    snprintf(line + len, sizeof line - (size_t)len, "\n");
    work();
    if (append(argv[1], line) < 0) return 1;
    work();
    printf("%s", argv[2]);
    return 0;
}

static int probe(const char *ledger, const char *key)
{
    char line[4096];
    const size_t len = strlen(key);
    FILE *file = fopen(ledger, "re");
    while (file && fgets(line, sizeof line, file)) {
        if (strncmp(line, "done\t", 5) != 0 || strncmp(line + 5, key, len) != 0 || line[5 + len] != '\t') continue;
        char *result = line + 5 + len + 1;
        result[strcspn(result, "\t")] = '\0';
        puts(result);
        fclose(file);
        return 0;
    }
    if (file) fclose(file);
    puts("null");
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "--probe") == 0) return probe(argv[2], argv[3]);
    if (argc >= 3) return book(argc, argv);
    fprintf(stderr, "usage: ledger_tool LEDGER RESULT WORD… | --probe LEDGER KEY\n");
    return 64;
}

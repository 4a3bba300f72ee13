/* scripted_server.c: the loopback model of server.h as a program.
 *
 *   scripted_server SCRIPT [--port N] [--log FILE]
 *
 * It prints its address on one line, to be put into TFY_LLM_URL, and serves until it is killed. This is how a recorded session is
 * written by hand: put the wanted answers into a script, start the server, and run the program once with --llm record:FILE. */
#include "server.h"

static char *read_file(const char *path)
{
    FILE *file = fopen(path, "r");
    char *text = NULL;
    size_t cap = 0;
    ssize_t len = file ? getdelim(&text, &cap, '\0', file) : -1;
    if (file) fclose(file);
    if (len < 0) {
        free(text);
        return NULL;
    }
    return text;
}

static int usage(void)
{
    fputs("usage: scripted_server SCRIPT [--port N] [--log FILE]\n", stderr);
    return 64;
}

int main(int argc, char **argv)
{
    Server server;
    const char *log = NULL;
    int port = 0;
    if (argc < 2 || argc % 2 != 0) return usage();
    for (int i = 2; i < argc; i += 2) {
        if (strcmp(argv[i], "--port") == 0)
            port = atoi(argv[i + 1]);
        else if (strcmp(argv[i], "--log") == 0)
            log = argv[i + 1];
        else
            return usage();
    }
    char *script = read_file(argv[1]);
    if (!script) {
        fprintf(stderr, "scripted_server: cannot read %s\n", argv[1]);
        return 69;
    }
    signal(SIGPIPE, SIG_IGN);
    if (!server_open(&server, port) || !server_read(&server, script)) return 69;
    if (log) server.log = fopen(log, "a");
    free(script);
    printf("http://127.0.0.1:%d/v1\n", server.port);
    fflush(stdout);
    server_run(&server);
    return 0;
}

/* tfyc_format.c: --format. A file is written only when its text changes, whole or not at all, through symbolic links
 * and with its permissions; standard input goes to standard output. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../dsl/format.h"
#include "tfyc.h"

/* Runs diff(1) on the file and the new text, which it reads from a pipe. */
static int show_diff(const char *path, const char *text, size_t len)
{
    int ends[2], status = 0;
    fflush(NULL);
    if (pipe(ends) != 0) return tfyc_report_io(path, "cannot compare");
    pid_t child = fork();
    if (child < 0) return tfyc_report_io(path, "cannot compare");
    if (child == 0) {
        dup2(ends[0], STDIN_FILENO);
        close(ends[0]);
        close(ends[1]);
        execlp("diff", "diff", "-u", "--label", path, "--label", "formatted", "--", path, "-", (char *)NULL);
        _exit(127);
    }
    close(ends[0]);
    void (*before)(int) = signal(SIGPIPE, SIG_IGN);
    for (size_t done = 0; done < len;) {
        ssize_t n = write(ends[1], text + done, len - done);
        if (n < 0 && errno != EINTR) break;
        if (n > 0) done += (size_t)n;
    }
    close(ends[1]);
    signal(SIGPIPE, before);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
    if (WIFEXITED(status) && WEXITSTATUS(status) <= 1) return EXIT_OK;
    fprintf(stderr, "tfyc: '%s' cannot be compared: diff could not be run\n", path);
    return EXIT_IO;
}

/* Writes the file a link leads to, not over the link. */
static int replace_file(const char *path, const char *text, size_t len)
{
    struct stat st;
    char *real = realpath(path, NULL);
    if (!real || stat(real, &st) != 0) {
        free(real);
        return tfyc_report_io(path, "cannot write");
    }
    int status = tfyc_write_file(real, text, len, st.st_mode & 07777);
    free(real);
    return status;
}

static int finish_file(const Options *options, const Source *source, const char *path, const char *text, size_t len)
{
    bool same = len == source->len && memcmp(text, source->text, len) == 0;
    bool standard_input = strcmp(path, "-") == 0;
    if (!options->check && !options->diff && standard_input) return tfyc_write_file("-", text, len, 0);
    if (same) return EXIT_OK;
    int status = options->check ? EXIT_DIFFERS : EXIT_OK;
    if (options->diff && !standard_input) {
        int shown = show_diff(path, text, len);
        return shown ? shown : status;
    }
    if (options->diff) return tfyc_write_file("-", text, len, 0) ? EXIT_IO : status;
    if (!options->check) return replace_file(path, text, len);
    puts(source->name);
    return fflush(stdout) == 0 ? status : tfyc_report_io("standard output", "cannot write");
}

static int format_file(const Options *options, const char *path)
{
    Arena arena;
    SourceSet sources;
    DiagList diags;
    int error = 0, status;
    size_t len;
    arena_init(&arena, (size_t)4 << 30);
    source_set_init(&sources, &arena);
    diag_init(&diags, &arena, &sources);
    Source *source = source_load(&sources, path, &error);
    const char *text = source ? format_source(&sources, source, &arena, &diags, &len) : NULL;
    if (!source) {
        status = tfyc_report_input(path, error);
    } else if (text) {
        status = finish_file(options, source, path, text, len);
    } else if (diags.errors) {
        status = tfyc_report_diags(options, &diags);
    } else {
        fprintf(stderr,
                "tfyc: %s: a bug of the formatter: its text would mean something else, so the file is left as it is; "
                "please report it, with the program if you can\n",
                path);
        status = EXIT_INTERNAL;
    }
    arena_deinit(&arena);
    return status;
}

int tfyc_format_files(const Options *options)
{
    int worst = EXIT_OK;
    for (int i = 0; i < options->input_count; i++) {
        int status = format_file(options, options->inputs[i]);
        if (status > worst) worst = status;
    }
    return worst;
}

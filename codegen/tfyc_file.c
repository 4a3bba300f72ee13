/* tfyc_file.c: reads and writes files, and reports failures. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../runtime/base/whole_file.h"
#include "tfyc.h"

int tfyc_report_io(const char *path, const char *what)
{
    fprintf(stderr, "tfyc: %s '%s': %s\n", what, path, strerror(errno));
    return EXIT_IO;
}

int tfyc_report_input(const char *path, int error)
{
    if (error == EFBIG) {
        fprintf(stderr, "tfyc: '%s' is larger than %u MiB, the most a program may have\n", path, SOURCE_MAX >> 20);
        return EXIT_BAD_PROGRAM;
    }
    if (error == EISDIR) {
        fprintf(stderr, "tfyc: %s is a directory; name a file in it\n", path);
        return EXIT_NO_INPUT;
    }
    fprintf(stderr, "tfyc: cannot read '%s': %s\n", path, strerror(error));
    return error == ENOENT ? EXIT_NO_INPUT : EXIT_IO;
}

int tfyc_report_diags(const Options *options, const DiagList *diags)
{
    if (options->json)
        diag_print_json(diags, stderr);
    else
        diag_print(diags, stderr, isatty(STDERR_FILENO) && !getenv("NO_COLOR"));
    return diags->errors ? EXIT_BAD_PROGRAM : EXIT_OK;
}

static bool write_whole(FILE *file, const char *data, size_t len)
{
    bool ok = fwrite(data, 1, len, file) == len;
    return fflush(file) == 0 && ok;
}

/* A device, a pipe or a link to something: it is written to, never replaced. */
static bool is_special(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

static int write_special(const char *path, const char *data, size_t len)
{
    FILE *file = fopen(path, "w");
    bool ok = file && write_whole(file, data, len);
    if (file) ok = fclose(file) == 0 && ok;
    return ok ? EXIT_OK : tfyc_report_io(path, "cannot write");
}

int tfyc_write_file(const char *path, const char *data, size_t len, unsigned mode)
{
    if (is_special(path)) return write_special(path, data, len);
    if (strcmp(path, "-") == 0)
        return write_whole(stdout, data, len) ? EXIT_OK : tfyc_report_io("standard output", "cannot write");
    TfyWhole whole;
    const int fd = tfy__whole_open(&whole, path, 0666);
    if (fd < 0) return tfyc_report_io(path, "cannot write");
    FILE *file = fdopen(fd, "w");
    bool ok = file && write_whole(file, data, len) && (!mode || fchmod(fd, mode) == 0);
    ok = (file ? fclose(file) : close(fd)) == 0 && ok;
    if (ok && tfy__whole_commit(&whole, TFY_WHOLE_OVER)) return EXIT_OK;
    int status = tfyc_report_io(path, "cannot write");
    tfy__whole_abandon(&whole);
    return status;
}

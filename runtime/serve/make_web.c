/* make_web.c: writes the files of the page as C: tfy__web_files, which tfy-serve carries (page.h).
 *
 * make_web NAME FILE.gz …   the name under which a file is asked for, and the file, which gzip has made */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { COLUMNS = 32 };

static const char *type_of(const char *name)
{
    static const char *const types[][2] = {{".html", "text/html; charset=utf-8"},
                                           {".css", "text/css; charset=utf-8"},
                                           {".js", "text/javascript; charset=utf-8"},
                                           {".json", "application/json"},
                                           {".svg", "image/svg+xml"}};
    const char *dot = strrchr(name, '.');
    for (size_t i = 0; dot && i < sizeof types / sizeof *types; i++)
        if (strcmp(dot, types[i][0]) == 0) return types[i][1];
    return NULL;
}

/* The bytes as a string of C, and their FNV-1a hash. */
static int write_bytes(FILE *file, size_t at, uint64_t *hash, unsigned long *count)
{
    *hash = 0xcbf29ce484222325u;
    *count = 0;
    printf("static const char bytes_%zu[] =\n", at);
    for (int byte; (byte = getc(file)) != EOF; ++*count) {
        *hash = (*hash ^ (uint64_t)byte) * 0x100000001b3u;
        printf("%s\\%03o%s", *count % COLUMNS ? "" : "\"", (unsigned)byte,
               *count % COLUMNS == COLUMNS - 1 ? "\"\n" : "");
    }
    printf("%s;\n", *count % COLUMNS ? "\"" : "\"\"");
    return ferror(file);
}

int main(int argc, char **argv)
{
    enum { FILES_MOST = 256 };
    uint64_t hashes[FILES_MOST];
    unsigned long counts[FILES_MOST];
    const size_t most = (size_t)(argc - 1) / 2;
    puts("#include \"serve/page.h\"\n");
    for (size_t i = 0; i < most && i < FILES_MOST; i++) {
        FILE *file = fopen(argv[2 * i + 2], "rb");
        if (!file || !type_of(argv[2 * i + 1]) || write_bytes(file, i, &hashes[i], &counts[i])) {
            fprintf(stderr, "make_web: '%s' cannot be read, or has an unknown type\n", argv[2 * i + 1]);
            return 1;
        }
        fclose(file);
    }
    puts("\nconst TfyWebFile tfy__web_files[] = {");
    for (size_t i = 0; i < most && i < FILES_MOST; i++)
        printf("    {\"%s\", \"%s\", \"\\\"%016llx\\\"\", bytes_%zu, %lu},\n", argv[2 * i + 1],
               type_of(argv[2 * i + 1]), (unsigned long long)hashes[i], i, counts[i]);
    puts("    {.name = NULL},\n};");
    return fflush(stdout) ? 1 : 0;
}

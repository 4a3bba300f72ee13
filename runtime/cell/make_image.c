/* make_image.c: writes a file as C: tfy__cell_image, which every program that runs tools carries (effects/cell.h). */
#include <stdio.h>
#include <string.h>

enum { COLUMNS = 32 };

int main(int argc, char **argv)
{
    FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;
    unsigned long count = 0;
    if (!file) {
        fprintf(stderr, "make_image: %s\n", argc == 2 ? "the file cannot be read" : "takes one file");
        return 1;
    }
    puts("#include \"effects/cell.h\"\n\nconst unsigned char tfy__cell_image[] =");
    for (int byte; (byte = getc(file)) != EOF; count++)
        printf("%s\\%o%s", count % COLUMNS ? "" : "\"", (unsigned)byte, count % COLUMNS == COLUMNS - 1 ? "\"\n" : "");
    printf("%s;\nconst size_t tfy__cell_image_len = %lu;\n", count % COLUMNS ? "\"" : "\"\"", count);
    return ferror(file) || fclose(file) || fflush(stdout) ? 1 : 0;
}

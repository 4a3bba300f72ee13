/* make_image.c: writes a file as C, for a program that carries it: const unsigned char NAME[], and its length, NAME_len, as HEADER
 * declares them.
 *
 * make_image HEADER NAME FILE */
#include <stdio.h>

enum { COLUMNS = 32 };

int main(int argc, char **argv)
{
    FILE *file = argc == 4 ? fopen(argv[3], "rb") : NULL;
    unsigned long count = 0;
    if (!file) {
        fprintf(stderr, "make_image: %s\n", argc == 4 ? "the file cannot be read" : "takes HEADER NAME FILE");
        return 1;
    }
    printf("#include \"%s\"\n\nconst unsigned char %s[] =\n", argv[1], argv[2]);
    for (int byte; (byte = getc(file)) != EOF; count++)
        printf("%s\\%03o%s", count % COLUMNS ? "" : "\"", (unsigned)byte, count % COLUMNS == COLUMNS - 1 ? "\"\n" : "");
    printf("%s;\nconst size_t %s_len = %lu;\n", count % COLUMNS ? "\"" : "\"\"", argv[2], count);
    return ferror(file) || fclose(file) || fflush(stdout) ? 1 : 0;
}

/* shared_host.c: loads programs from shared objects, and runs them in one loop: DB OBJECT…
 *
 * "=FILE" puts that file in the place of the object before it. Each object's `main` is started with the text "a". Prints
 * their results in order, then "unloaded". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tfy.h"

enum { MOST = 8 };

static TfyShared *shared[MOST];
static int64_t roots[MOST];
static int count;

/* Of a name that programs have too. */
bool mark(TfyTask *task, TfyObj *text, TfyObj **out);
bool mark(TfyTask *task, TfyObj *text, TfyObj **out)
{
    (void)text;
    *out = NULL;
    return tfy_tool_fail(task, 1, "the host's function was called");
}

static int give_up(const char *error)
{
    fprintf(stderr, "host: %s\n", error);
    return 1;
}

/* The first one opens the loop; one that is loaded already is the same program. */
static int add(TfyLoop **loop, const char *db, const char *path, char *error)
{
    const TfyOptions options = {.db_path = db};
    int code = tfy_shared_open(&shared[count], path, error);
    if (code < 0) return code;
    const TfyProgram *program = tfy_shared_program(shared[count]);
    code = *loop ? tfy_load(*loop, program, NULL, error) : tfy_open(loop, program, &options, error);
    return code < 0 ? code : tfy_submit_to(*loop, program, "main", "{\"text\":\"a\"}", &roots[count++], error);
}

static void print_result(TfyLoop *loop, int64_t root)
{
    const char *result = tfy_task_result(loop, root), *failure = tfy_task_error(loop, root);
    puts(result ? result : failure ? failure : "waits");
}

int main(int argc, char **argv)
{
    char error[TFY_ERROR_TEXT];
    TfyLoop *loop = NULL;
    for (int i = 2; i < argc && i < MOST; i++) {
        const bool swap = argv[i][0] == '=';
        if (swap && rename(argv[i] + 1, argv[i - 1]) < 0) return give_up("cannot rename");
        if (!swap && add(&loop, argv[1], argv[i], error) < 0) return give_up(error);
    }
    if (tfy_run(loop) < 0) return give_up("the runs did not end");
    for (int i = 0; i < count; i++) print_result(loop, roots[i]);
    if (tfy_close(loop) < 0) return give_up("cannot close");
    while (count) tfy_shared_close(shared[--count]);
    puts("unloaded");
    return 0;
}

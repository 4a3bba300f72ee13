/* dsl_module.c: which files a program is made of: where they are found, what they are called, how their lines are counted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "module.h"
#include "type.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A directory with files, and what was loaded from it. */
typedef struct World {
    char dir[64];
    Arena arena;
    SourceSet sources;
    DiagList diags;
    Module *modules;
} World;

static void world_open(World *world)
{
    *world = (World){0};
    strcpy(world->dir, "/tmp/tfy_module_XXXXXX");
    assert_non_null(mkdtemp(world->dir));
    arena_init(&world->arena, 0);
    source_set_init(&world->sources, &world->arena);
    diag_init(&world->diags, &world->arena, &world->sources);
}

static void world_close(World *world)
{
    char command[128];
    arena_deinit(&world->arena);
    snprintf(command, sizeof command, "rm -rf %s", world->dir);
    assert_int_equal(system(command), 0);
}

static char *path_of(const World *world, const char *name)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", world->dir, name);
    return path;
}

static void put(const World *world, const char *name, const char *text)
{
    char *path = path_of(world, name);
    for (char *slash = strchr(path + strlen(world->dir) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void load(World *world, const char *name, const char **dirs, uint32_t count)
{
    int error = 0;
    ModulePaths paths = {dirs, count};
    Source *source = source_load(&world->sources, path_of(world, name), &error);
    assert_non_null(source);
    world->modules = module_load(&world->sources, source, &paths, &world->arena, &world->diags);
}

/* "file=name file=name …" of what was loaded, in order. */
static const char *names(const World *world)
{
    const char *all = "";
    for (const Module *m = world->modules; m; m = m->next)
        all = arena_printf(world->sources.arena, "%s%s%s=%s", all, *all ? " " : "", m->file, m->name);
    return all;
}

static void files_are_loaded_once_and_named_apart(void **state)
{
    World world;
    world_open(&world);
    put(&world, "main.tfy", "import \"lib/a.tfy\"\nimport \"lib/./deep/../a.tfy\" as same\nimport \"a-b.tfy\" as x\n");
    put(&world, "lib/a.tfy", "import \"deep/a.tfy\" as inner\nimport \"../9.tfy\" as nine\n");
    put(&world, "lib/deep/a.tfy", "import \"../../a-b.tfy\" as y\n");
    put(&world, "a-b.tfy", "const A = 1\n");
    put(&world, "9.tfy", "");
    load(&world, "main.tfy", NULL, 0);
    assert_int_equal(world.diags.errors, 0);
    assert_string_equal(names(&world), "main.tfy= lib/a.tfy=a a-b.tfy=a_b lib/deep/a.tfy=a_2 9.tfy=_9");
    const Decl *first = world.modules->decls;
    assert_ptr_equal(first->imported, first->next->imported);
    assert_string_equal(first->name.text, "a");
    world_close(&world);
}

static void directories_are_searched_in_order(void **state)
{
    World world;
    world_open(&world);
    put(&world, "src/main.tfy", "import \"std/x.tfy\"\nimport \"own.tfy\"\n");
    put(&world, "src/own.tfy", "");
    put(&world, "one/own.tfy", "");
    put(&world, "two/std/x.tfy", "import \"y.tfy\"\n");
    put(&world, "one/std/y.tfy", "");
    put(&world, "two/std/y.tfy", "");
    char one[256], two[256];
    strcpy(one, path_of(&world, "one"));
    strcpy(two, path_of(&world, "two"));
    load(&world, "src/main.tfy", (const char *[]){one, two}, 2);
    assert_int_equal(world.diags.errors, 0);
    assert_string_equal(names(&world), "main.tfy= std/x.tfy=x own.tfy=own std/y.tfy=y");
    assert_non_null(strstr(world.modules->next->next->source->name, "/src/own.tfy"));
    assert_non_null(strstr(world.modules->next->next->next->source->name, "/two/std/y.tfy"));
    world_close(&world);
}

static void lines_are_counted_over_all_files(void **state)
{
    World world;
    world_open(&world);
    put(&world, "main.tfy", "import \"a.tfy\"\nimport \"b.tfy\"");
    put(&world, "a.tfy", "\n\nconst A = 1\n");
    put(&world, "b.tfy", "const B = 2");
    load(&world, "main.tfy", NULL, 0);
    const Module *a = world.modules->next, *b = a->next;
    assert_int_equal(a->source->line_base, 2);
    assert_int_equal(b->source->line_base, 6);
    assert_int_equal(source_global_line(&world.sources, a->decls->span.off), 5);
    assert_int_equal(source_global_line(&world.sources, b->decls->span.off), 7);
    Program *program = check_program(world.modules, &world.sources, &world.arena, &world.diags);
    assert_int_equal(world.diags.errors, 0);
    assert_int_equal(program->decl_count, 4);
    assert_string_equal(program->decls[3]->full_name, "b.B");
    assert_string_equal(program->decls[3]->c_name, "2m_B");
    world_close(&world);
}

static void mistakes_stand_at_their_import(void **state)
{
    static const char *const messages[] = {"cannot find 'no.tfy'", "'match' is a reserved word",
                                           "'a-b' cannot be a name", "an import names a file, such as \"lib/text.tfy\"",
                                           "files import each other in a circle: main.tfy → main.tfy"};
    World world;
    world_open(&world);
    put(&world, "main.tfy",
        "import \"no.tfy\"\nimport \"match.tfy\"\nimport \"a-b.tfy\"\nimport \"\"\nimport \"main.tfy\"\n");
    put(&world, "match.tfy", "");
    put(&world, "a-b.tfy", "");
    load(&world, "main.tfy", NULL, 0);
    const Diag *diag = world.diags.first;
    for (size_t i = 0; i < sizeof messages / sizeof *messages; i++, diag = diag->next) {
        assert_non_null(diag);
        assert_string_equal(diag->message, messages[i]);
    }
    assert_null(diag);
    world_close(&world);
}

/* A long way down is no recursion, and too many files are refused. */
static void a_thousand_files(void **state)
{
    World world;
    char name[32], text[64];
    world_open(&world);
    for (int i = 0; i < MODULES_MAX + 1; i++) {
        snprintf(name, sizeof name, "m%d.tfy", i);
        snprintf(text, sizeof text, "import \"m%d.tfy\"\n", i + 1);
        put(&world, name, text);
    }
    load(&world, "m0.tfy", NULL, 0);
    assert_int_equal(world.diags.errors, 1);
    assert_string_equal(world.diags.first->message, "a program has at most 1000 files");
    world_close(&world);
}

/* ---- bundles ---- */

static const char *load_bundle(World *world, const char *text)
{
    const char *problem = NULL;
    world->modules = module_load_bundle(&world->sources, text, strlen(text), &world->arena, &world->diags, &problem);
    return world->modules ? NULL : problem;
}

static void a_bundle_says_what_its_imports_mean(void **state)
{
    World world;
    world_open(&world);
    assert_null(load_bundle(&world,
                            "{\"modules\": [{\"file\": \"main.tfy\", \"text\": \"import \\\"x/y.tfy\\\"\\n\", "
                            "\"imports\": {\"x/y.tfy\": 1}}, {\"file\": \"gone/y.tfy\", \"text\": \"const A = 1\"}]}"));
    assert_int_equal(world.diags.errors, 0);
    assert_string_equal(names(&world), "main.tfy= gone/y.tfy=y");
    assert_ptr_equal(world.modules->decls->imported, world.modules->next);
    world_close(&world);
}

static void what_is_no_bundle(void **state)
{
    static const char *const texts[] = {"",
                                        "[]",
                                        "{\"modules\": 3}",
                                        "{\"modules\": []}",
                                        "{\"modules\": [{\"file\": \"a\"}]}",
                                        "{\"modules\": [{\"text\": \"a\"}]}"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        World world;
        world_open(&world);
        assert_non_null(load_bundle(&world, texts[i]));
        world_close(&world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_are_loaded_once_and_named_apart),
        cmocka_unit_test(directories_are_searched_in_order),
        cmocka_unit_test(lines_are_counted_over_all_files),
        cmocka_unit_test(mistakes_stand_at_their_import),
        cmocka_unit_test(a_thousand_files),
        cmocka_unit_test(a_bundle_says_what_its_imports_mean),
        cmocka_unit_test(what_is_no_bundle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

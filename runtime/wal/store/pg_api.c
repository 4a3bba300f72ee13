/* pg_api.c: see pg_api.h. */
#include "wal/store/pg_api.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

#include "wal/store/store.h"

static const struct {
    const char *name;
    size_t at; /* in TfyPgApi */
} functions[] = {
#define FUNCTION(result_, name_, parameters_, arguments_, failed_) {"PQ" #name_, offsetof(TfyPgApi, name_)},
    TFY_PG_API(FUNCTION)
#undef FUNCTION
};

int tfy__pg_api_open(const char *library, TfyPgApi *api, char *error_text)
{
    void *object = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!object)
        return tfy__log_refuse(error_text, TFY_E_ABSENT,
                               "a postgresql:// database needs %s, which is not installed; install the package libpq5 "
                               "(Debian, Ubuntu), libpq (Fedora, Alpine) or postgresql-libs (Arch)",
                               library);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *found = dlsym(object, functions[i].name);
        if (!found) {
            dlclose(object);
            return tfy__log_refuse(error_text, TFY_E_ABSENT,
                                   "%s has no function %s; a postgresql:// database needs libpq 14 or newer", library,
                                   functions[i].name);
        }
        memcpy((char *)api + functions[i].at, &found, sizeof found);
    }
    return 0;
}

int tfy__pg_api(const TfyPgApi **api, char *error_text)
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static TfyPgApi opened;
    static bool is_open;
    pthread_mutex_lock(&mutex);
    const int code = is_open ? 0 : tfy__pg_api_open("libpq.so.5", &opened, error_text);
    is_open = !code;
    pthread_mutex_unlock(&mutex);
    *api = code ? NULL : &opened;
    return code;
}

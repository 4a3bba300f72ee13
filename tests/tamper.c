/* tamper.c: tamper DATABASE SQL: changes a database behind the log's back and leaves its page sums right, so that tests see what the log's own
 * checks find. (What sqlite3 itself writes fails its page's sum already.) */
#include <sqlite3.h>
#include <stdio.h>

#include "wal/store/page_vfs.h"

int main(int argc, char **argv)
{
    sqlite3 *db = NULL;
    char *message = NULL;
    if (argc != 3) {
        fprintf(stderr, "usage: tamper DATABASE SQL\n");
        return 64;
    }
    int code = sqlite3_open_v2(argv[1], &db, SQLITE_OPEN_READWRITE, tfy__page_vfs());
    if (!code) code = sqlite3_exec(db, argv[2], NULL, NULL, &message);
    if (code) fprintf(stderr, "tamper: %s\n", message ? message : sqlite3_errmsg(db));
    sqlite3_free(message);
    sqlite3_close(db);
    return code != 0;
}

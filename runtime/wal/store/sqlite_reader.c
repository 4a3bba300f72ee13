/* sqlite_reader.c: finds out who reads the database, from the kernel's list of locks.
 *
 * A reader holds a shared lock on one of bytes 123 to 127 of the -shm file during its transaction. Asking the kernel
 * about the file itself would need a descriptor, and closing that would drop the locks that this process has on the
 * file. So this file reads /proc/locks: "1: POSIX  ADVISORY  READ 123 fe:00:456 124 124", with the inode after the
 * last colon. */
#include "wal/store/store_sqlite.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FIRST_READER_BYTE = 123, LAST_READER_BYTE = 127, LOOKS = 10 };

static bool is_reader(const char *line, uint64_t inode, long *pid)
{
    uint64_t locked;
    long first;
    const int found = sscanf(line, "%*s POSIX %*s READ %ld %*x:%*x:%" SCNu64 " %ld", pid, &locked, &first);
    return found == 3 && locked == inode && first >= FIRST_READER_BYTE && first <= LAST_READER_BYTE && *pid != getpid();
}

static void name_process(long pid, char *name, size_t size)
{
    char file[64], command[32] = "";
    snprintf(file, sizeof file, "/proc/%ld/comm", pid);
    FILE *comm = fopen(file, "re");
    if (comm && fgets(command, sizeof command, comm)) command[strcspn(command, "\n")] = '\0';
    if (comm) fclose(comm);
    snprintf(name, size, "pid %ld (%s)", pid, command[0] ? command : "?");
}

/* The kernel returns the list in pieces, and locks that change between two pieces make it omit lines: 0 may mean
 * nothing. */
static long find_reader(uint64_t inode)
{
    char line[256];
    long pid = 0;
    bool found = false;
    FILE *locks = fopen("/proc/locks", "re");
    if (!locks) return 0;
    while (!found && fgets(line, sizeof line, locks)) found = is_reader(line, inode, &pid);
    fclose(locks);
    return found ? pid : 0;
}

void tfy__sqlite_name_reader(const char *path, char *name, size_t size)
{
    char shm[4096];
    struct stat status;
    long pid = 0;
    snprintf(name, size, "another process");
    if (snprintf(shm, sizeof shm, "%s-shm", path) >= (int)sizeof shm || stat(shm, &status) != 0) return;
    for (int look = 0; !pid && look < LOOKS; look++) pid = find_reader(status.st_ino);
    if (pid) name_process(pid, name, size);
}

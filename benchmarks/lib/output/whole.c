/* Writes, then renames; see whole.h. */
#include "lib/output/whole.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 4096, HOST_BYTES = 256 };

/* True when every byte was passed to the file system. */
static bool close_whole(FILE *file) {
    bool good = !ferror(file);
    return fclose(file) == 0 && good;
}

void whole_write(const char *library, const char *path, whole_writer *write, const void *document) {
    char host[HOST_BYTES] = "";
    char temporary[PATH_BYTES];
    (void)gethostname(host, sizeof host - 1);
    (void)snprintf(temporary, sizeof temporary, "%s.%s.%ld.tmp", path, host, (long)getpid());
    FILE *file = fopen(temporary, "w");
    if (file) {
        write(file, document);
        if (close_whole(file) && rename(temporary, path) == 0)
            return;
    }
    (void)fprintf(stderr, "%s: %s: cannot be written: %s\n", library, path, strerror(errno));
    if (file)
        (void)unlink(temporary);
}

/* Writes, then renames; see whole.h. */
#include "lib/output/whole.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { HOST_BYTES = 256 };

void whole_temporary(const char *path, char temporary[WHOLE_PATH_BYTES]) {
    char host[HOST_BYTES] = "";
    (void)gethostname(host, sizeof host - 1);
    (void)snprintf(temporary, WHOLE_PATH_BYTES, "%s.%s.%ld.tmp", path, host, (long)getpid());
}

/* True when every byte has reached the file system. */
static bool close_whole(FILE *file) {
    bool good = !ferror(file) && fflush(file) == 0 && fsync(fileno(file)) == 0;
    int error = errno;
    if (fclose(file) != 0)
        return false;
    errno = error;
    return good;
}

bool whole_write(const char *path, whole_writer *write, const void *document) {
    char temporary[WHOLE_PATH_BYTES];
    whole_temporary(path, temporary);
    FILE *file = fopen(temporary, "w");
    if (!file)
        return false;
    write(file, document);
    if (close_whole(file) && rename(temporary, path) == 0)
        return true;
    int error = errno;
    (void)unlink(temporary);
    errno = error;
    return false;
}

void whole_write_or_tell(const char *library, const char *path, whole_writer *write, const void *document) {
    if (!whole_write(path, write, document))
        (void)fprintf(stderr, "%s: %s: cannot be written: %s\n", library, path, strerror(errno));
}

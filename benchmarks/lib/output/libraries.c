/* Reads /proc/self/maps and calls the libraries' version functions; see libraries.h. */
#include "lib/output/libraries.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { LINE_BYTES = 4096, PATH_BYTES = 2048, VERSION_BYTES = 64, LIBRARIES_MOST = 32 };

static const char *const names[] = {"libmpi",  "libmpich",          "libfabric", "libucp", "libpsm2",
                                    "libpsm3", "libpsm_infinipath", "libcxi",    "libopx", "libnccl",
                                    "librccl", "libpmix",           "libmpi_gtl"};

/* True for NAME.so..., NAME_more.so... and NAME-more.so... of a known name. */
static bool is_known(const char *path) {
    const char *slash = strrchr(path, '/');
    if (!slash || !strstr(slash, ".so"))
        return false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t length = strlen(names[i]);
        if (strncmp(slash + 1, names[i], length) == 0 && strchr("._-", slash[1 + length]))
            return true;
    }
    return false;
}

typedef uint32_t fabric_version(void);
typedef const char *ucx_version(void);

static void find_version(const char *path, char version[VERSION_BYTES]) {
    void *library = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
    version[0] = '\0';
    if (!library)
        return;
    void *function = dlsym(library, "fi_version");
    if (function && strstr(path, "libfabric")) {
        fabric_version *ask = NULL;
        memcpy(&ask, &function, sizeof ask);
        (void)snprintf(version, VERSION_BYTES, "%u.%u", ask() >> 16, ask() & 0xffffU);
    }
    function = dlsym(library, "ucp_get_version_string");
    if (function && strstr(path, "libucp")) {
        ucx_version *ask = NULL;
        memcpy(&ask, &function, sizeof ask);
        (void)snprintf(version, VERSION_BYTES, "%s", ask());
    }
    (void)dlclose(library);
}

static void write_library(struct json *json, const char *path) {
    char version[VERSION_BYTES];
    find_version(path, version);
    json_object(json);
    json_key_text(json, "path", path);
    json_key_text(json, "version", version);
    json_object_end(json);
}

/* The path at the end of a line of the map; NULL where the line has none. A file has several lines in a row.
 */
static char *path_of(char *line) {
    line[strcspn(line, "\n")] = '\0';
    return strchr(line, '/');
}

void libraries_write(struct json *json) {
    char line[LINE_BYTES];
    char last[PATH_BYTES] = "";
    int count = 0;
    FILE *map = fopen("/proc/self/maps", "r");
    json_key_array(json, "libraries");
    while (map && count < LIBRARIES_MOST && fgets(line, sizeof line, map)) {
        const char *path = path_of(line);
        if (!path || !is_known(path) || strcmp(path, last) == 0 || strlen(path) >= sizeof last)
            continue;
        (void)snprintf(last, sizeof last, "%s", path);
        write_library(json, path);
        count++;
    }
    if (map)
        (void)fclose(map);
    json_array_end(json);
}

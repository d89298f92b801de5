/* Prints and writes what was measured; see report.h. */
#include "lib/output/report.h"

#include "lib/output/table.h"
#include "lib/run/check.h"

#include <stdlib.h>

int report(const struct document *document,
           void (*print_heading)(const void *context, const struct evidence_list *evidence),
           const char *json) {
    struct problem problem = {0};
    if (check_rank() == 0) {
        print_heading(document->context, document->evidence);
        table_print(document->list);
        if (json)
            output_write(json, document, &problem);
    }
    return problem_agree(&problem, document->benchmark) ? EXIT_NOT_WRITTEN : EXIT_SUCCESS;
}

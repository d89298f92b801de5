/*
 * The output of topobw: a line per pair of nodes, a summary per dimension and the findings, as text and as
 * JSON.
 *
 * Leaves out: the verdict itself.
 */
#pragma once

#include "lib/output/json.h"
#include "lib/output/output.h"
#include "topobw/run/run.h"

enum { FINDING_TEXT_BYTES = 1024 };

/* On rank 0: prints all of it. */
void topobw_print(const struct topobw *run, const struct evidence_list *evidence);

/* On rank 0: the series of the document. Their labels point into `names`, LINK_NAME_BYTES for each link. */
void topobw_series(const struct topobw *run, char *names, struct series_list *list);

/* The members "parameters" and "verdict" of the document; the context is a struct topobw_document. */
struct topobw_document {
    const struct topobw *run;
    const struct evidence_list *evidence;
};

void topobw_write_parameters(struct json *json, const void *context);
void topobw_write_verdict(struct json *json, const void *context);

/* "sound", "faulty", "not judged" if no link is bad but the way of a link's packets is not known, or "rates
 * sound" if no way was asked for. */
const char *topobw_status(const struct topobw *run);

/* The links that are not judged as one sentence, without a full stop. */
void topobw_unjudged_text(const struct topobw *run, char *text);

/* One finding as one sentence, without a full stop. */
void topobw_finding_text(const struct topobw *run, const struct evidence_list *evidence,
                         const struct finding *finding, char *text);

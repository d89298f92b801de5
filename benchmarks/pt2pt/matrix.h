/*
 * A file with a value for each pair of nodes: a matrix for each point, written while sets are measured.
 *
 * A rank keeps its row of each matrix and writes what is new in it every few seconds, so that a run that is
 * killed loses no more. The layout of the file is in docs/formats.md, `railyard pairs` reads it. A value
 * is the median over samples in the unit of the point's figure; 0 is not measured.
 *
 * Leaves out: several ranks of a node.
 */
#ifndef RAILYARD_PT2PT_MATRIX_H
#define RAILYARD_PT2PT_MATRIX_H

#include "lib/ranks/evidence.h"
#include "lib/run/problem.h"
#include "pt2pt/engine.h"
#include "pt2pt/nodes.h"

struct matrix {
    MPI_File file;
    MPI_Offset data; /* where the first matrix begins */
    int nodes;
    int own; /* this rank's node, -1 if it takes no part */
    int *node_of_rank;
    int points;
    float *rows; /* [point * nodes + node]: this rank's rows */
    bool is_new; /* a row has values that are not written */
    double written_s;
};

/* Collective. Creates the file, or sets a problem on a rank that cannot. `evidence` is rank 0's. */
struct matrix *matrix_open(const char *path, const struct nodes *nodes, const struct engine_config *config,
                           const struct evidence_list *evidence, struct problem *problem);

/* Notes the samples, seconds of a unit, of a pair that this rank leads at point `number` of the list. */
void matrix_note(struct matrix *matrix, const struct engine_config *config, const struct point *point,
                 int number, int to, const double *unit_s, int count);

/* Writes what is new if the last time is long ago. */
void matrix_write(struct matrix *matrix);

/* Collective. Writes the rest and closes the file. NULL is allowed. */
void matrix_close(struct matrix *matrix);

#endif

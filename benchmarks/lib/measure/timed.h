/*
 * Tells the virtual torus when timed samples are taken: the process of a rank has the name railyard-timed as
 * long.
 *
 * The start of a program, its check of the data and its results load the processors and the network, too. The
 * watcher of the torus (railyard-counters) sees the name ten times a second and judges the machine by the
 * rest. A name crosses containers and schedulers without a file or a variable. Nothing happens elsewhere than
 * on a virtual torus.
 */
#ifndef RAILYARD_LIB_MEASURE_TIMED_H
#define RAILYARD_LIB_MEASURE_TIMED_H

void timed_begin(void);
void timed_end(void);

#endif

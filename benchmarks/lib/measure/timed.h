/*
 * Signals to the virtual torus when timed samples are taken: meanwhile the rank's process is named
 * railyard-timed.
 *
 * Start-up, verification and output also load the processors and the network. The watcher of the torus
 * (railyard-counters) reads the name ten times per second and judges the machine only during timed samples. A
 * process name is visible across containers and schedulers without a file or a variable. Outside a virtual
 * torus these functions do nothing.
 */
#ifndef RAILYARD_LIB_MEASURE_TIMED_H
#define RAILYARD_LIB_MEASURE_TIMED_H

void timed_begin(void);
void timed_end(void);

#endif

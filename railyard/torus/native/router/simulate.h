/* The router's network without nodes and without a clock: messages from a file instead of NICs. For tests,
 * and to study how a pattern of messages loads the links. */
#pragma once

#include "description.h"

#include <stdio.h>

/* Read lines `AT_NS LINK A.B.C.D BYTES [TIME_TO_LIVE]`, by rising time: a message of BYTES of payload from
 * the NIC with link number LINK. Print `message NUMBER ENTERED_NS DUE_NS ROUTERS` for each as it arrives, or
 * `expired NUMBER ENTERED_NS DUE_NS ROUTERS NAME` for one that comes back from the router NAME, then one line
 * `link` for each link. Return whether all messages arrived. */
bool simulate(struct network *network, FILE *messages);

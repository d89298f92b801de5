/*
 * Payloads that look random and can be recomputed anywhere: word i of a payload is a hash of its key and i,
 * so the receiver can check every byte without a copy of the sent data. Random data, because some networks
 * compress zeros.
 *
 * Leaves out: cryptographic quality, and payloads that model an application's data.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns the key of one payload, made of the seed and the numbers that identify the payload. */
uint64_t payload_key(uint64_t seed, uint64_t round, uint64_t rank, uint64_t part);

/* Returns word `index` of the payload with that key (splitmix64). */
uint64_t payload_word(uint64_t key, uint64_t index);

/* Returns the key of the payload that starts at word `index` of another payload. */
uint64_t payload_key_from(uint64_t key, uint64_t index);

/* The same as a finite double: one exponent bit is cleared, 63 of 64 bits look random. */
double payload_double(uint64_t key, uint64_t index);

/* The bits of a double, for exact comparison. */
uint64_t payload_bits(double value);

/* Fills a buffer with the payload of that key, in the machine's byte order. */
void payload_fill(void *buffer, size_t bytes, uint64_t key);

/* The index of the first byte that differs from the payload of that key; bytes when none does. */
size_t payload_first_difference(const void *buffer, size_t bytes, uint64_t key);

/*
 * Flips one bit of the buffer on the rank that RAILYARD_TEST_FAULT names in the environment. Only in a build
 * with -DRAILYARD_TEST_FAULT=ON; otherwise it does nothing.
 */
void payload_test_fault(void *buffer, size_t bytes, int rank);

/* Hashed payloads; see payload.h. splitmix64 is Steele, Lea and Flood, OOPSLA 2014. */
#include "lib/measure/payload.h"

#include <stdlib.h>
#include <string.h>

uint64_t payload_word(uint64_t key, uint64_t index) {
    uint64_t word = key + (index + 1) * UINT64_C(0x9e3779b97f4a7c15);
    word = (word ^ (word >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    word = (word ^ (word >> 27)) * UINT64_C(0x94d049bb133111eb);
    return word ^ (word >> 31);
}

uint64_t payload_key(uint64_t seed, uint64_t round, uint64_t rank, uint64_t part) {
    return payload_word(payload_word(payload_word(seed, round), rank), part);
}

uint64_t payload_key_from(uint64_t key, uint64_t index) {
    return key + index * UINT64_C(0x9e3779b97f4a7c15);
}

double payload_double(uint64_t key, uint64_t index) {
    uint64_t word = payload_word(key, index) & ~(UINT64_C(1) << 62);
    double value;
    memcpy(&value, &word, sizeof value);
    return value;
}

uint64_t payload_bits(double value) {
    uint64_t word;
    memcpy(&word, &value, sizeof word);
    return word;
}

void payload_fill(void *buffer, size_t bytes, uint64_t key) {
    unsigned char *at = buffer;
    for (size_t index = 0; bytes > 0; index++) {
        uint64_t word = payload_word(key, index);
        size_t part = bytes < sizeof word ? bytes : sizeof word;
        memcpy(at, &word, part);
        at += part;
        bytes -= part;
    }
}

size_t payload_first_difference(const void *buffer, size_t bytes, uint64_t key) {
    const unsigned char *actual = buffer;
    for (size_t done = 0; done < bytes; done += sizeof(uint64_t)) {
        uint64_t word = payload_word(key, done / sizeof word);
        unsigned char expected[sizeof word];
        size_t part = bytes - done < sizeof word ? bytes - done : sizeof word;
        memcpy(expected, &word, sizeof word);
        if (memcmp(actual + done, expected, part) != 0) {
            size_t at = 0;
            while (at < part && actual[done + at] == expected[at])
                at++;
            return done + at;
        }
    }
    return bytes;
}

#ifdef RAILYARD_TEST_FAULT
void payload_test_fault(void *buffer, size_t bytes, int rank) {
    const char *chosen = getenv("RAILYARD_TEST_FAULT");
    if (chosen && atoi(chosen) == rank && bytes > 0)
        ((unsigned char *)buffer)[bytes / 2] ^= 1u;
}
#else
void payload_test_fault(void *buffer, size_t bytes, int rank) {
    (void)buffer;
    (void)bytes;
    (void)rank;
}
#endif

// What a keyspace larger than the caches costs at least: a program that computes for some time per key, asks for random
// cache lines 40 keys ahead of their use, and does nothing else. A server of pipelines does the same, with a bucket and an
// entry of one to two lines for each key.
//
// usage: memory_floor MIB NANOSECONDS      (memory that the lines are in, computing time per key)
//
// Rows: lines per key. Columns: nanoseconds per key when the hints of 1, 2, 4, 8, 16 and 32 keys are given at once; the best
// of five runs. The second table copies 80 bytes per key, too, through 600 KiB, as requests and replies pass the caches.

#include <immintrin.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { KEYS = 1 << 20, AHEAD = 40, LINES = 3, LINE = 64, HUGE_PAGE = 2 << 20, RING = 600 << 10, COPIED = 80 };

static uint32_t lines[LINES * KEYS];
static volatile uint64_t sink;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

static uint64_t draw(void) {
    static uint64_t s = 88172645463325252ull;
    s ^= s << 13;
    s ^= s >> 7;
    return s ^= s << 17;
}

// Memory in huge pages, where the system gives them.
static char *area(size_t size) {
    char *p = mmap(0, size + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) exit(1);
    p = (char *)(((uintptr_t)p + HUGE_PAGE - 1) & ~((uintptr_t)HUGE_PAGE - 1));
    madvise(p, size, MADV_HUGEPAGE);
    for (size_t i = 0; i < size; i += 4096) p[i] = 1;
    return p;
}

// Four chains that do not wait for each other, as most of a server's instructions do not.
static inline uint64_t compute(int rounds, uint64_t seed) {
    uint64_t a = seed, b = seed + 1, c = seed + 2, d = seed + 3;
    for (int k = 0; k < rounds; k++) {
        a = (a ^ (a >> 3)) + k;
        b = (b ^ (b >> 5)) + k;
        c = (c ^ (c >> 7)) + k;
        d = (d ^ (d >> 9)) + k;
    }
    return a + b + c + d;
}

static double per_key(const char *memory, int rounds, int per, int at_once, char *from, char *to) {
    uint64_t sum = 0;
    size_t at = 0;
    double start = now();
    for (int i = 0; i < KEYS - AHEAD - 32; i++) {
        if (i % at_once == 0)
            for (int key = i + AHEAD; key < i + AHEAD + at_once; key++)
                for (int j = 0; j < per; j++) _mm_prefetch(memory + (size_t)lines[LINES * key + j] * LINE, _MM_HINT_T0);
        for (int j = 0; j < per; j++) sum += *(const uint64_t *)(memory + (size_t)lines[LINES * i + j] * LINE);
        sum += compute(rounds, i);
        if (from) {
            memcpy(to + at, from + at, COPIED);
            at = at + 2 * COPIED > RING ? 0 : at + COPIED;
        }
    }
    sink = sum;
    return (now() - start) / (KEYS - AHEAD - 32);
}

int main(int argc, char **argv) {
    if (argc != 3) return fprintf(stderr, "usage: memory_floor MIB NANOSECONDS\n"), 2;
    size_t size = (size_t)atol(argv[1]) << 20;
    double wanted = atof(argv[2]);
    char *memory = area(size), *from = area(HUGE_PAGE), *to = area(HUGE_PAGE);
    int rounds = 0;
    for (double took = 0; took < wanted && rounds < 1000;) {
        took = 1e9;
        rounds++;
        for (int run = 0; run < 3; run++) {
            double one = per_key(memory, rounds, 0, 1, 0, 0);
            if (one < took) took = one;
        }
    }
    for (int streams = 0; streams <= 1; streams++) {
        printf("%s MiB%s\n", argv[1], streams ? ", copies 80 bytes per key" : "");
        for (int per = 0; per <= LINES; per++) {
            printf("%d lines:", per);
            for (int at_once = 1; at_once <= 32; at_once *= 2) {
                double best = 1e9;
                for (int run = 0; run < 5; run++) {
                    for (int i = 0; i < LINES * KEYS; i++) lines[i] = draw() % (size / LINE);
                    double took = per_key(memory, rounds, per, at_once, streams ? from : 0, to);
                    if (took < best) best = took;
                }
                printf(" %6.1f", best);
            }
            printf("\n");
        }
    }
}

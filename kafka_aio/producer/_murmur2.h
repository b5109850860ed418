/* Murmur2 as Kafka's Java clients compute it, with their seed: the partition of a key must be the
 * same whoever sends it. Java's number is the same bits, signed. */
#ifndef KAFKA_AIO_MURMUR2_H
#define KAFKA_AIO_MURMUR2_H

#include <stddef.h>
#include <stdint.h>

static inline uint32_t kaio_murmur2(const uint8_t *p, size_t size) {
    const uint32_t factor = 0x5bd1e995;
    uint32_t hash = 0x9747b28c ^ (uint32_t)size;
    for (; size >= 4; p += 4, size -= 4) {
        uint32_t word = (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
                        (uint32_t)p[3] << 24;
        word *= factor;
        word ^= word >> 24;
        hash = hash * factor ^ word * factor;
    }
    if (size > 2) hash ^= (uint32_t)p[2] << 16;
    if (size > 1) hash ^= (uint32_t)p[1] << 8;
    if (size > 0) hash = (hash ^ p[0]) * factor;
    hash ^= hash >> 13;
    hash *= factor;
    return hash ^ hash >> 15;
}

/* Of a topic with that many partitions, the one that the key belongs to. */
static inline int32_t kaio_partition_of_key(const uint8_t *key, size_t size, int32_t count) {
    return (int32_t)((kaio_murmur2(key, size) & 0x7fffffff) % (uint32_t)count);
}

#endif

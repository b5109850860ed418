/* What compressed payloads inflate to, by their headers alone.
 *
 * `_codec_py/sizes.py` says how, and is the referee.
 */
#ifndef KAFKA_AIO_SIZES_H
#define KAFKA_AIO_SIZES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
    KAIO_GZIP = 1,
    KAIO_SNAPPY,
    KAIO_LZ4,
    KAIO_ZSTD,
    KAIO_MOST_MEMBERS = 64,
    KAIO_MOST_BLOCKS = 64,
    KAIO_LEAST_LAST_BLOCK = 4 * 1024,
    KAIO_USUAL_RATIO = 8,
    KAIO_LZ4_GREATEST_RATIO = 255,
    KAIO_XERIAL_BYTES = 16,
    KAIO_LZ4_LEAST = 7,
    KAIO_ZSTD_LEAST = 9,
    KAIO_ZSTD_BLOCK_HOLDS = 128 * 1024
};

#define KAIO_UNKNOWN_SIZE ((int64_t)1 << 60)

/* A little-endian number of so many bytes, of those that are there. */
static uint64_t kaio_little(const uint8_t *data, int64_t size, int64_t at, int width) {
    uint64_t number = 0;
    for (int index = 0; index < width && at + index < size; index++)
        number |= (uint64_t)data[at + index] << 8 * index;
    return number;
}

static int64_t kaio_less(int64_t one, int64_t other) { return one < other ? one : other; }

static int64_t kaio_last_block(int64_t size, int64_t holds) {
    int64_t usual = size * KAIO_USUAL_RATIO;
    if (!size)
        return 0;
    return kaio_less(holds, usual > KAIO_LEAST_LAST_BLOCK ? usual : KAIO_LEAST_LAST_BLOCK);
}

static int64_t kaio_size_of_gzip(const uint8_t *data, int64_t size) {
    const uint8_t *next = data + 1, *end = data + size;
    while (end - next >= 3 && (next = (const uint8_t *)memchr(next, 0x1f, end - next - 2))) {
        if (next[1] == 0x8b && next[2] == 0x08)
            return KAIO_UNKNOWN_SIZE;
        next++;
    }
    return size > 4 ? (int64_t)kaio_little(data, size, size - 4, 4) : 0;
}

static int64_t kaio_declared_by_snappy(const uint8_t *data, int64_t size) {
    uint64_t number = 0;
    for (int index = 0; index < 5 && index < size; index++) {
        number |= (uint64_t)(data[index] & 0x7f) << 7 * index;
        if (!(data[index] & 0x80))
            return (int64_t)number;
    }
    return 0;
}

static int64_t kaio_size_of_snappy(const uint8_t *data, int64_t size, int64_t enough) {
    int64_t at = KAIO_XERIAL_BYTES, total = 0;
    if (size < 8 || memcmp(data, "\x82SNAPPY", 8) != 0)
        return kaio_declared_by_snappy(data, size);
    for (int blocks = 0; blocks < KAIO_MOST_BLOCKS; blocks++) {
        if (at + 4 > size || total > enough)
            return total;
        int64_t block = (int64_t)data[at] << 24 | data[at + 1] << 16 | data[at + 2] << 8 | data[at + 3];
        if (block > INT32_MAX)
            return total;
        at += 4;
        if (at < size)
            total += kaio_declared_by_snappy(data + at, kaio_less(block, size - at));
        at += block;
    }
    return KAIO_UNKNOWN_SIZE;
}

static int64_t kaio_size_of_lz4(const uint8_t *data, int64_t size, int64_t enough) {
    if (size < KAIO_LZ4_LEAST)
        return 0;
    int flags = data[4];
    int64_t holds = (int64_t)1 << (8 + 2 * (data[5] >> 4 & 7)), total = 0, last = 0;
    int64_t at = KAIO_LZ4_LEAST + (flags & 0x08) + 4 * (flags & 0x01);
    for (int blocks = 0; blocks < KAIO_MOST_BLOCKS; blocks++) {
        if (at + 4 > size || total > enough)
            return total + kaio_less(holds, last * KAIO_LZ4_GREATEST_RATIO);
        int64_t block = (int64_t)kaio_little(data, size, at, 4), kept = 0;
        if (!block)
            return total + kaio_last_block(last, holds);
        total += kaio_less(holds, last * KAIO_LZ4_GREATEST_RATIO);
        last = block;
        if (block >> 31)
            last = 0, kept = block & 0x7fffffff;
        total += kept;
        at += 4 + last + kept + (flags & 0x10) / 4;
    }
    return KAIO_UNKNOWN_SIZE;
}

/* What a frame inflates to; `*at` is where it begins, and then where it ends. */
static int64_t kaio_size_of_zstd_frame(const uint8_t *data, int64_t size, int64_t *at) {
    int flags = data[*at + 4], is_single = flags >> 5 & 1;
    int width = flags >> 6 ? 1 << (flags >> 6) : is_single;
    int64_t total = 0, last = 0, next = *at + 6 - is_single + ((flags & 3) == 3 ? 4 : flags & 3);
    uint64_t declared = kaio_little(data, size, next, width) + (width == 2 ? 256 : 0);
    next += width;
    *at = size;
    for (int blocks = 0; blocks < KAIO_MOST_BLOCKS; blocks++) {
        if (next + 3 > size)
            return total + KAIO_ZSTD_BLOCK_HOLDS;
        int64_t block = (int64_t)kaio_little(data, size, next, 3), kept = block >> 3;
        int kind = block >> 1 & 3;
        next += 3 + (kind == 1 ? 1 : kept);
        total += last ? KAIO_ZSTD_BLOCK_HOLDS : 0;
        last = 0;
        if (kind == 2)
            last = kept, kept = 0;
        total += kept;
        if (block & 1) {
            *at = next + (flags & 0x04);
            if (!width)
                return total + kaio_last_block(last, KAIO_ZSTD_BLOCK_HOLDS);
            return declared < (uint64_t)KAIO_UNKNOWN_SIZE ? (int64_t)declared : KAIO_UNKNOWN_SIZE;
        }
    }
    return KAIO_UNKNOWN_SIZE;
}

static int64_t kaio_size_of_zstd(const uint8_t *data, int64_t size, int64_t enough) {
    int64_t at = 0, total = 0;
    for (int members = 0; members < KAIO_MOST_MEMBERS; members++) {
        if (at + KAIO_ZSTD_LEAST > size || total > enough)
            break;
        uint64_t magic = kaio_little(data, size, at, 4);
        if (magic == 0xFD2FB528)
            total += kaio_size_of_zstd_frame(data, size, &at);
        else if ((magic & ~(uint64_t)0xf) == 0x184D2A50)
            at += 8 + (int64_t)kaio_little(data, size, at + 4, 4);
        else
            break;
        total = kaio_less(total, KAIO_UNKNOWN_SIZE);
    }
    return total;
}

static int64_t kaio_inflated_size(int codec, const uint8_t *data, int64_t size, int64_t enough) {
    if (size > enough || size == 0)
        return size;
    switch (codec) {
    case KAIO_GZIP: return kaio_size_of_gzip(data, size);
    case KAIO_SNAPPY: return kaio_size_of_snappy(data, size, enough);
    case KAIO_LZ4: return kaio_size_of_lz4(data, size, enough);
    case KAIO_ZSTD: return kaio_size_of_zstd(data, size, enough);
    default: return size;
    }
}

#endif

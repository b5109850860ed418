/* One record of a batch, written and parsed. `_codec.pyx` has its fields as a table.
 *
 * Every number but the attributes is a varint: zigzag, seven bits a byte, the lowest first.
 */
#ifndef KAFKA_AIO_RECORD_H
#define KAFKA_AIO_RECORD_H

#include <Python.h>
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__GNUC__) || defined(__clang__)
#define KAIO_INLINE static inline __attribute__((always_inline))
#elif defined(_MSC_VER)
#define KAIO_INLINE static __forceinline
#else
#define KAIO_INLINE static inline
#endif

/* More than a record takes besides its key, value and headers. */
enum { KAIO_MOST_BESIDES = 48 };

typedef struct { /* bytes that somebody else holds; size -1 is null */
    const uint8_t *data;
    ptrdiff_t size;
} kaio_span;

/* -- numbers */

KAIO_INLINE uint64_t kaio_zigzag(int64_t number) {
    return ((uint64_t)number << 1) ^ (uint64_t)(number >> 63);
}

/* A difference, before it is known whether the numbers are such that it cannot overflow. */
KAIO_INLINE uint64_t kaio_delta(int64_t number, int64_t base) {
    return kaio_zigzag((int64_t)((uint64_t)number - (uint64_t)base));
}

KAIO_INLINE ptrdiff_t kaio_varint_bytes(uint64_t bits) {
    ptrdiff_t size = 1;
    while (bits >= 0x80) {
        bits >>= 7;
        size++;
    }
    return size;
}

KAIO_INLINE uint8_t *kaio_put_varint(uint8_t *p, uint64_t bits) {
    if (bits < 0x80) {
        *p = (uint8_t)bits;
        return p + 1;
    }
    if (bits < 0x4000) {
        p[0] = (uint8_t)(bits | 0x80);
        p[1] = (uint8_t)(bits >> 7);
        return p + 2;
    }
    while (bits >= 0x80) {
        *p++ = (uint8_t)(bits | 0x80);
        bits >>= 7;
    }
    *p = (uint8_t)bits;
    return p + 1;
}

/* -- writing */

KAIO_INLINE ptrdiff_t kaio_payload(kaio_span span) { return span.size > 0 ? span.size : 0; }

KAIO_INLINE ptrdiff_t kaio_span_bytes(kaio_span span) {
    return kaio_varint_bytes(kaio_zigzag(span.size)) + kaio_payload(span);
}

/* What memcpy does, without the call where it is short, as most keys and values are: a copy of a
 * known size is a few instructions, and two of them overlap where the size is in between. */
KAIO_INLINE void kaio_copy(uint8_t *to, const uint8_t *from, ptrdiff_t size) {
    if (size > 128 || size < 16) {
        if (size > 0) memcpy(to, from, (size_t)size); /* an empty column has no address yet */
    } else if (size > 64) {
        memcpy(to, from, 64);
        memcpy(to + size - 64, from + size - 64, 64);
    } else if (size > 32) {
        memcpy(to, from, 32);
        memcpy(to + size - 32, from + size - 32, 32);
    } else {
        memcpy(to, from, 16);
        memcpy(to + size - 16, from + size - 16, 16);
    }
}

KAIO_INLINE uint8_t *kaio_put_span(uint8_t *p, kaio_span span) {
    p = kaio_put_varint(p, kaio_zigzag(span.size));
    if (span.size > 0) {
        kaio_copy(p, span.data, span.size);
        p += span.size;
    }
    return p;
}

/* What a record takes behind its length. */
KAIO_INLINE ptrdiff_t kaio_body_bytes(uint64_t timestamp_delta, uint64_t offset_delta,
                                      kaio_span key, kaio_span value, kaio_span headers) {
    return 1 + kaio_varint_bytes(timestamp_delta) + kaio_varint_bytes(offset_delta) +
           kaio_span_bytes(key) + kaio_span_bytes(value) + headers.size;
}

/* Write a record where there is room for it; returns where it ends. `headers` is the whole section,
 * its count included. The length comes last, into the bytes that it will surely take: most often
 * there is no doubt how many these are. */
KAIO_INLINE uint8_t *kaio_put_record(uint8_t *p, uint64_t timestamp_delta, uint64_t offset_delta,
                                     kaio_span key, kaio_span value, kaio_span headers) {
    ptrdiff_t payload = kaio_payload(key) + kaio_payload(value) + headers.size;
    uint8_t *body, *end;
    if (payload >= 64 && payload < 8192 - KAIO_MOST_BESIDES)
        body = p + 2;
    else
        body = p + kaio_varint_bytes(kaio_zigzag(
                       kaio_body_bytes(timestamp_delta, offset_delta, key, value, headers)));
    *body = 0; /* attributes, unused */
    end = kaio_put_varint(body + 1, timestamp_delta);
    end = kaio_put_varint(end, offset_delta);
    end = kaio_put_span(end, key);
    end = kaio_put_span(end, value);
    if (headers.size == 1)
        *end = *headers.data;
    else
        memcpy(end, headers.data, (size_t)headers.size);
    end += headers.size;
    kaio_put_varint(p, kaio_zigzag(end - body));
    return end;
}

typedef struct { /* a batch while many records are written to it */
    uint8_t *at;
    const uint8_t *stop;
    int64_t base_timestamp;
    int64_t max_timestamp;
    int32_t count;
} kaio_pen;

/* Write a record behind the first of its batch; 0 where it may not fit. */
KAIO_INLINE int kaio_write(kaio_pen *pen, kaio_span key, kaio_span value, kaio_span headers,
                           int64_t timestamp) {
    ptrdiff_t payload = kaio_payload(key) + kaio_payload(value) + headers.size;
    if (payload > pen->stop - pen->at - KAIO_MOST_BESIDES || timestamp < 0) return 0;
    pen->at = kaio_put_record(pen->at, kaio_delta(timestamp, pen->base_timestamp),
                              kaio_zigzag(pen->count), key, value, headers);
    assert(pen->at <= pen->stop);
    if (timestamp > pen->max_timestamp) pen->max_timestamp = timestamp;
    pen->count++;
    return 1;
}

/* The bytes of an object that is bytes and that somebody else holds on to; 0 for anything else. */
KAIO_INLINE int kaio_point_at(PyObject *item, kaio_span *span) {
    if (!PyBytes_CheckExact(item)) return 0;
    span->data = (const uint8_t *)PyBytes_AS_STRING(item);
    span->size = PyBytes_GET_SIZE(item);
    return 1;
}

#if defined(_MSC_VER) || __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define KAIO_LITTLE_ENDIAN 1
#else
#define KAIO_LITTLE_ENDIAN 0
#endif

/* A number of 8 to 14 bits as a varint, in the low two bytes. */
KAIO_INLINE uint64_t kaio_two_bytes(uint64_t bits) { return (bits & 0x7f) | 0x80 | (bits >> 7) << 8; }

/* The same as kaio_write for the record that a list of values most often holds: no key, no headers,
 * about the time of the first, numbers of two bytes. All that precedes the value is then one word:
 * attributes, timestamp delta, offset delta, null key, size of the value. */
KAIO_INLINE int kaio_write_usual(kaio_pen *pen, kaio_span value, int64_t timestamp) {
    uint64_t timestamp_delta = kaio_delta(timestamp, pen->base_timestamp);
    uint64_t offset_delta = (uint64_t)pen->count << 1, size = (uint64_t)value.size << 1;
    uint64_t word;
    if (!KAIO_LITTLE_ENDIAN || timestamp < 0 || timestamp_delta >= 0x80) return 0;
    if (offset_delta < 0x80 || offset_delta >= 0x4000 || size < 0x80 || size >= 0x4000 - 16)
        return 0;
    if (value.size > pen->stop - pen->at - KAIO_MOST_BESIDES) return 0;
    word = kaio_two_bytes(size + 16); /* the length: seven bytes before the value, one behind it */
    memcpy(pen->at, &word, 2);
    word = timestamp_delta << 8 | kaio_two_bytes(offset_delta) << 16 | (uint64_t)1 << 32 |
           kaio_two_bytes(size) << 40;
    memcpy(pen->at + 2, &word, 8);
    kaio_copy(pen->at + 9, value.data, value.size);
    pen->at += 9 + value.size;
    *pen->at++ = 0; /* no headers */
    assert(pen->at <= pen->stop);
    if (timestamp > pen->max_timestamp) pen->max_timestamp = timestamp;
    pen->count++;
    return 1;
}

/* Write values, and keys unless these are NULL, while they are bytes and surely fit; returns the
 * first index not written. It runs no Python code, so the lists that hold them stay as they are.
 * A loop of its own without keys, where all about them is known when this is compiled. */
static inline ptrdiff_t kaio_write_many(kaio_pen *pen, PyObject **values, PyObject **keys,
                                        ptrdiff_t index, ptrdiff_t stop, int64_t timestamp) {
    static const uint8_t no_headers = 0;
    const kaio_span headers = {&no_headers, 1}, no_key = {NULL, -1};
    kaio_pen local = *pen;
    kaio_span key, value;
    if (keys == NULL)
        while (index < stop && kaio_point_at(values[index], &value) &&
               (kaio_write_usual(&local, value, timestamp) ||
                kaio_write(&local, no_key, value, headers, timestamp)))
            index++;
    else
        while (index < stop && kaio_point_at(values[index], &value) &&
               kaio_point_at(keys[index], &key) &&
               kaio_write(&local, key, value, headers, timestamp))
            index++;
    *pen = local;
    return index;
}

typedef struct { /* a column of byte strings in Arrow's layout; without offsets all is null */
    const int32_t *offsets32;
    const int64_t *offsets64;
    const uint8_t *data;
    const uint8_t *validity;
    ptrdiff_t start;
    ptrdiff_t size;
} kaio_column;

typedef struct { /* a column of milliseconds; without data every row takes the time of the call */
    const int64_t *data;
    const uint8_t *validity;
    ptrdiff_t start;
} kaio_times;

KAIO_INLINE int kaio_is_valid(const uint8_t *validity, ptrdiff_t row) {
    return validity == NULL || (validity[row >> 3] >> (row & 7)) & 1;
}

/* The row's bytes; size -1 where null, -2 where the offsets make no sense. */
KAIO_INLINE kaio_span kaio_column_span(const kaio_column *column, ptrdiff_t row) {
    kaio_span span = {NULL, -1};
    int64_t begin, end;
    row += column->start;
    if (!kaio_is_valid(column->validity, row)) return span;
    if (column->offsets32 != NULL) {
        begin = column->offsets32[row];
        end = column->offsets32[row + 1];
    } else if (column->offsets64 != NULL) {
        begin = column->offsets64[row];
        end = column->offsets64[row + 1];
    } else {
        return span;
    }
    span.size = -2;
    if (begin < 0 || end < begin || end > column->size) return span;
    span.data = column->data + begin;
    span.size = end - begin;
    return span;
}

KAIO_INLINE int64_t kaio_time(const kaio_times *times, ptrdiff_t row, int64_t otherwise) {
    if (times->data == NULL || !kaio_is_valid(times->validity, row + times->start))
        return otherwise;
    return times->data[row + times->start];
}

/* Rows that are taken here and there are not where the processor expects the next: it is told which
 * one comes some rows later. */
enum { KAIO_AHEAD = 8 };

KAIO_INLINE void kaio_expect(const kaio_column *column, ptrdiff_t row) {
#if defined(__GNUC__) || defined(__clang__)
    uintptr_t at = (uintptr_t)column->data; /* no pointer: nobody has checked the offset yet */
    row += column->start;
    if (column->offsets32 != NULL)
        at += (uintptr_t)column->offsets32[row];
    else if (column->offsets64 != NULL)
        at += (uintptr_t)column->offsets64[row];
    __builtin_prefetch((const void *)at);
    __builtin_prefetch((const void *)(at + 64));
#else
    (void)column, (void)row;
#endif
}

/* Write rows without headers while they are sound and surely fit: those from `at` to `stop`, or
 * where there are indices, those that the indices from `at` to `stop` name, of `length` rows.
 * Returns the first place not written. */
KAIO_INLINE ptrdiff_t kaio_write_some(kaio_pen *pen, const kaio_column *keys,
                                      const kaio_column *values, const kaio_times *times,
                                      const int32_t *indices, ptrdiff_t length, ptrdiff_t at,
                                      ptrdiff_t stop, int64_t timestamp) {
    static const uint8_t no_headers = 0;
    const kaio_span headers = {&no_headers, 1};
    /* Copies: what is written are bytes, and bytes may be anything, to the compiler these too. */
    const kaio_column key_column = *keys, value_column = *values;
    const kaio_times time_column = *times;
    const int has_keys = keys->offsets32 != NULL || keys->offsets64 != NULL;
    kaio_pen local = *pen;
    for (; at < stop; at++) {
        const ptrdiff_t row = indices == NULL ? at : indices[at];
        kaio_span key, value;
        int64_t time;
        if (indices != NULL && (size_t)row >= (size_t)length) break;
        if (indices != NULL && stop - at > KAIO_AHEAD) {
            const ptrdiff_t later = indices[at + KAIO_AHEAD];
            if ((size_t)later < (size_t)length) {
                kaio_expect(&value_column, later);
                if (has_keys) kaio_expect(&key_column, later);
            }
        }
        value = kaio_column_span(&value_column, row);
        time = kaio_time(&time_column, row, timestamp);
        if (!has_keys && kaio_write_usual(&local, value, time)) continue;
        key = kaio_column_span(&key_column, row);
        if (key.size < -1 || value.size < -1) break;
        if (!kaio_write(&local, key, value, headers, time)) break;
    }
    *pen = local;
    return at;
}

static inline ptrdiff_t kaio_write_rows(kaio_pen *pen, const kaio_column *keys,
                                        const kaio_column *values, const kaio_times *times,
                                        ptrdiff_t row, ptrdiff_t stop, int64_t timestamp) {
    return kaio_write_some(pen, keys, values, times, NULL, stop, row, stop, timestamp);
}

static inline ptrdiff_t kaio_write_taken(kaio_pen *pen, const kaio_column *keys,
                                         const kaio_column *values, const kaio_times *times,
                                         const int32_t *indices, ptrdiff_t length, ptrdiff_t at,
                                         ptrdiff_t stop, int64_t timestamp) {
    return kaio_write_some(pen, keys, values, times, indices, length, at, stop, timestamp);
}

/* -- parsing */

typedef enum { /* what is wrong with a record; `text.DAMAGE` has the words */
    KAIO_SOUND,
    KAIO_CUT_SHORT,
    KAIO_LONG_VARINT,
    KAIO_BAD_LENGTH,
    KAIO_BAD_KEY,
    KAIO_BAD_VALUE,
    KAIO_BAD_HEADER_COUNT,
    KAIO_BAD_HEADER_KEY,
    KAIO_BAD_HEADER_VALUE,
    KAIO_WRONG_LENGTH,
    KAIO_BAD_OFFSET
} kaio_damage;

typedef struct {
    int64_t timestamp_delta;
    int32_t offset_delta;
    int32_t header_count;
    kaio_span key;
    kaio_span value;
    const uint8_t *headers; /* behind their count */
    const uint8_t *end;
} kaio_parsed;

KAIO_INLINE kaio_damage kaio_take_bits(const uint8_t **p, const uint8_t *end, int wide,
                                       uint64_t *bits) {
    uint64_t sum = 0;
    for (int shift = 0; shift < wide; shift += 7) {
        if (*p >= end) return KAIO_CUT_SHORT;
        uint8_t byte = *(*p)++;
        sum |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *bits = sum;
            return KAIO_SOUND;
        }
    }
    return KAIO_LONG_VARINT;
}

KAIO_INLINE kaio_damage kaio_take_varint(const uint8_t **p, const uint8_t *end, int32_t *number) {
    uint64_t wide = 0;
    kaio_damage damage = kaio_take_bits(p, end, 32, &wide);
    uint32_t bits = (uint32_t)wide;
    *number = (int32_t)((bits >> 1) ^ (0u - (bits & 1u)));
    return damage;
}

KAIO_INLINE kaio_damage kaio_take_varlong(const uint8_t **p, const uint8_t *end, int64_t *number) {
    uint64_t bits = 0;
    kaio_damage damage = kaio_take_bits(p, end, 64, &bits);
    *number = (int64_t)((bits >> 1) ^ (0u - (bits & 1u)));
    return damage;
}

KAIO_INLINE kaio_damage kaio_take_span(const uint8_t **p, const uint8_t *end, int32_t least,
                                       kaio_damage otherwise, kaio_span *span) {
    int32_t size = 0;
    kaio_damage damage = kaio_take_varint(p, end, &size);
    if (damage) return damage;
    if (size < least || size > end - *p) return otherwise;
    span->data = *p;
    span->size = size;
    if (size > 0) *p += size;
    return KAIO_SOUND;
}

/* The next of a record's headers. */
KAIO_INLINE kaio_damage kaio_take_header(const uint8_t **p, const uint8_t *end, kaio_span *key,
                                         kaio_span *value) {
    kaio_damage damage = kaio_take_span(p, end, 0, KAIO_BAD_HEADER_KEY, key);
    return damage ? damage : kaio_take_span(p, end, -1, KAIO_BAD_HEADER_VALUE, value);
}

#define KAIO_TRY(step)                     \
    do {                                   \
        kaio_damage damage_ = (step);      \
        if (damage_) return damage_;       \
    } while (0)

/* Check one record from front to back; what it returns is the first thing that is wrong. The bound
 * of every read is the end of the record, and that of the record is the end of its batch. */
KAIO_INLINE kaio_damage kaio_parse_record(const uint8_t *p, const uint8_t *batch_end,
                                          kaio_parsed *record) {
    int32_t length = 0;
    const uint8_t *end;
    KAIO_TRY(kaio_take_varint(&p, batch_end, &length));
    if (length < 0 || length > batch_end - p) return KAIO_BAD_LENGTH;
    end = p + length;
    if (p >= end) return KAIO_CUT_SHORT;
    p++; /* attributes, unused */
    KAIO_TRY(kaio_take_varlong(&p, end, &record->timestamp_delta));
    KAIO_TRY(kaio_take_varint(&p, end, &record->offset_delta));
    KAIO_TRY(kaio_take_span(&p, end, -1, KAIO_BAD_KEY, &record->key));
    KAIO_TRY(kaio_take_span(&p, end, -1, KAIO_BAD_VALUE, &record->value));
    KAIO_TRY(kaio_take_varint(&p, end, &record->header_count));
    if (record->header_count < 0 || record->header_count > (end - p) / 2)
        return KAIO_BAD_HEADER_COUNT;
    record->headers = p;
    for (int32_t index = 0; index < record->header_count; index++) {
        kaio_span key, value;
        KAIO_TRY(kaio_take_header(&p, end, &key, &value));
    }
    if (p != end) return KAIO_WRONG_LENGTH;
    record->end = end;
    return KAIO_SOUND;
}

#endif

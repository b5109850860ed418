/* CRC-32C (Castagnoli), with the CPU's instruction where there is one.
 *
 * The instruction takes three cycles and a new one can start every cycle, so long inputs run as
 * three streams at once. A stream's sum is moved past the bytes of the next by a multiplication
 * with x^(8n) modulo the polynomial, which is linear: four tables of 256 words for a fixed n.
 *
 * The streams are short, so that the three together are read nearly in order: that is what the CPU
 * expects, and has at hand in time. With 2 KiB each it is a sixth faster on bytes in its cache, and
 * takes more than twice as long on those that are not, as most of a fetch.
 */
#ifndef KAFKA_AIO_CRC32C_H
#define KAFKA_AIO_CRC32C_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define KAIO_POLYNOMIAL 0x82f63b78u /* bits reversed */

#if (defined(__x86_64__) || defined(__i386__)) && (defined(__GNUC__) || defined(__clang__))
#if defined(__x86_64__)
#define KAIO_CRC_X86 1
#include <nmmintrin.h>
#define KAIO_CRC_TARGET __attribute__((target("sse4.2")))
#define KAIO_CRC_NAME "sse4.2"
#define kaio_crc_u8(crc, byte) ((uint32_t)_mm_crc32_u8((crc), (byte)))
#define kaio_crc_u64(crc, word) ((uint32_t)_mm_crc32_u64((crc), (word)))
#endif
#elif defined(_M_X64)
#define KAIO_CRC_X86 1
#include <intrin.h>
#include <nmmintrin.h>
#define KAIO_CRC_TARGET
#define KAIO_CRC_NAME "sse4.2"
#define kaio_crc_u8(crc, byte) ((uint32_t)_mm_crc32_u8((crc), (byte)))
#define kaio_crc_u64(crc, word) ((uint32_t)_mm_crc32_u64((crc), (word)))
#elif defined(__aarch64__) && (defined(__GNUC__) || defined(__clang__))
/* By name: the intrinsics are there only where the whole file is compiled for such a CPU. */
#define KAIO_CRC_ARM 1
#define KAIO_CRC_TARGET
#define KAIO_CRC_NAME "armv8"
static inline uint32_t kaio_crc_u8(uint32_t crc, uint8_t byte) {
    __asm__(".arch_extension crc\n\tcrc32cb %w0, %w0, %w1" : "+r"(crc) : "r"(byte));
    return crc;
}
static inline uint32_t kaio_crc_u64(uint32_t crc, uint64_t word) {
    __asm__(".arch_extension crc\n\tcrc32cx %w0, %w0, %x1" : "+r"(crc) : "r"(word));
    return crc;
}
#if defined(__linux__)
#include <sys/auxv.h>
#endif
#endif

enum { KAIO_STREAM = 256 }; /* bytes */

static uint32_t kaio_table[8][256]; /* by software, eight bytes a step */
static uint32_t kaio_past_table[4][256];

/* a * b modulo the polynomial, all with bits reversed: x^0 is the highest bit */
static uint32_t kaio_multiply(uint32_t a, uint32_t b) {
    uint32_t product = 0;
    for (uint32_t bit = 0x80000000u; bit; bit >>= 1) {
        if (a & bit) product ^= b;
        b = (b & 1) ? (b >> 1) ^ KAIO_POLYNOMIAL : b >> 1;
    }
    return product;
}

static void kaio_fill_past(void) {
    uint32_t square = 0x40000000u; /* x^1, squared on */
    uint32_t power = 0x80000000u;  /* x^0 */
    for (uint32_t bits = KAIO_STREAM * 8; bits; bits >>= 1) {
        if (bits & 1) power = kaio_multiply(square, power);
        square = kaio_multiply(square, square);
    }
    for (int place = 0; place < 4; place++)
        for (uint32_t byte = 0; byte < 256; byte++)
            kaio_past_table[place][byte] = kaio_multiply(power, byte << (8 * place));
}

static inline uint32_t kaio_past(uint32_t crc) {
    return kaio_past_table[0][crc & 0xff] ^ kaio_past_table[1][(crc >> 8) & 0xff] ^
           kaio_past_table[2][(crc >> 16) & 0xff] ^ kaio_past_table[3][crc >> 24];
}

static inline uint64_t kaio_load64(const unsigned char *data) {
    uint64_t word;
    memcpy(&word, data, 8);
    return word;
}

static uint32_t kaio_crc_by_table(uint32_t crc, const unsigned char *data, size_t size) {
    crc = ~crc;
    while (size >= 8) {
        uint32_t low = crc ^ ((uint32_t)data[0] | (uint32_t)data[1] << 8 |
                              (uint32_t)data[2] << 16 | (uint32_t)data[3] << 24);
        crc = kaio_table[7][low & 0xff] ^ kaio_table[6][(low >> 8) & 0xff] ^
              kaio_table[5][(low >> 16) & 0xff] ^ kaio_table[4][low >> 24] ^
              kaio_table[3][data[4]] ^ kaio_table[2][data[5]] ^ kaio_table[1][data[6]] ^
              kaio_table[0][data[7]];
        data += 8;
        size -= 8;
    }
    while (size--) crc = kaio_table[0][(crc ^ *data++) & 0xff] ^ (crc >> 8);
    return ~crc;
}

#ifdef KAIO_CRC_NAME
KAIO_CRC_TARGET
static uint32_t kaio_crc_by_instruction(uint32_t crc, const unsigned char *data, size_t size) {
    crc = ~crc;
    while (size >= 3 * KAIO_STREAM) {
        uint32_t second = 0, third = 0;
        const unsigned char *end = data + KAIO_STREAM;
        do {
            crc = kaio_crc_u64(crc, kaio_load64(data));
            second = kaio_crc_u64(second, kaio_load64(data + KAIO_STREAM));
            third = kaio_crc_u64(third, kaio_load64(data + 2 * KAIO_STREAM));
            data += 8;
        } while (data < end);
        crc = kaio_past(crc) ^ second;
        crc = kaio_past(crc) ^ third;
        data += 2 * KAIO_STREAM;
        size -= 3 * KAIO_STREAM;
    }
    while (size >= 8) {
        crc = kaio_crc_u64(crc, kaio_load64(data));
        data += 8;
        size -= 8;
    }
    while (size--) crc = kaio_crc_u8(crc, *data++);
    return ~crc;
}

static int kaio_cpu_has_instruction(void) {
#if defined(KAIO_CRC_ARM) && defined(__linux__)
    return (getauxval(AT_HWCAP) >> 7) & 1; /* HWCAP_CRC32 */
#elif defined(KAIO_CRC_ARM)
    return 1; /* Apple's all have it */
#elif defined(_MSC_VER) && !defined(__clang__)
    int registers[4];
    __cpuid(registers, 1);
    return (registers[2] >> 20) & 1;
#else
    return __builtin_cpu_supports("sse4.2");
#endif
}
#endif

typedef uint32_t (*kaio_crc_function)(uint32_t, const unsigned char *, size_t);
static kaio_crc_function kaio_crc32c = kaio_crc_by_table;

/* Called once, when the module is imported; returns the name of what was chosen. */
static const char *kaio_crc32c_start(void) {
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++) crc = (crc & 1) ? (crc >> 1) ^ KAIO_POLYNOMIAL : crc >> 1;
        kaio_table[0][byte] = crc;
    }
    for (int place = 1; place < 8; place++)
        for (int byte = 0; byte < 256; byte++) {
            uint32_t crc = kaio_table[place - 1][byte];
            kaio_table[place][byte] = kaio_table[0][crc & 0xff] ^ (crc >> 8);
        }
#ifdef KAIO_CRC_NAME
    if (kaio_cpu_has_instruction()) {
        kaio_fill_past();
        kaio_crc32c = kaio_crc_by_instruction;
        return KAIO_CRC_NAME;
    }
#endif
    return "table";
}

#endif

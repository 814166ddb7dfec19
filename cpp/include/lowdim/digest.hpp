// Digests of arrays, at the speed of reading memory, to tell whether two arrays are the same. Not
// cryptographic.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "lowdim/parallel.hpp"

namespace lowdim {

constexpr int64_t kDigestChunk = int64_t(1) << 20;  // bytes of a digest of its own

namespace xxh64 {  // Y. Collet's xxHash64, https://xxhash.com, with seed 0

constexpr uint64_t kPrime1 = 0x9E3779B185EBCA87U, kPrime2 = 0xC2B2AE3D27D4EB4FU,
                   kPrime3 = 0x165667B19E3779F9U, kPrime4 = 0x85EBCA77C2B2AE63U,
                   kPrime5 = 0x27D4EB2F165667C5U;

inline uint64_t rotated(uint64_t x, int bits) { return (x << bits) | (x >> (64 - bits)); }

inline uint64_t round(uint64_t sum, uint64_t word) {
    return rotated(sum + word * kPrime2, 31) * kPrime1;
}

template <class Word>
uint64_t load(const uint8_t* from) {
    Word word;
    std::memcpy(&word, from, sizeof word);
    return word;
}

inline uint64_t digest(const uint8_t* bytes, int64_t count) {
    const uint8_t* at = bytes;
    const uint8_t* const end = bytes + count;
    uint64_t hash = kPrime5;
    if (count >= 32) {
        uint64_t lanes[4] = {kPrime1 + kPrime2, kPrime2, 0, 0 - kPrime1};
        for (; end - at >= 32; at += 32)
            for (int lane = 0; lane < 4; ++lane)
                lanes[lane] = round(lanes[lane], load<uint64_t>(at + 8 * lane));
        hash = rotated(lanes[0], 1) + rotated(lanes[1], 7) + rotated(lanes[2], 12) +
               rotated(lanes[3], 18);
        for (const uint64_t lane : lanes) hash = (hash ^ round(0, lane)) * kPrime1 + kPrime4;
    }
    hash += uint64_t(count);
    for (; end - at >= 8; at += 8)
        hash = rotated(hash ^ round(0, load<uint64_t>(at)), 27) * kPrime1 + kPrime4;
    if (end - at >= 4) {
        hash = rotated(hash ^ (load<uint32_t>(at) * kPrime1), 23) * kPrime2 + kPrime3;
        at += 4;
    }
    for (; at < end; ++at) hash = rotated(hash ^ (*at * kPrime5), 11) * kPrime1;
    hash = (hash ^ (hash >> 33)) * kPrime2;
    hash = (hash ^ (hash >> 29)) * kPrime3;
    return hash ^ (hash >> 32);
}

}  // namespace xxh64

inline int64_t digest_chunks(int64_t count) { return (count + kDigestChunk - 1) / kDigestChunk; }

// The digest of each chunk, of which out has digest_chunks(count).
inline void digest(const uint8_t* bytes, int64_t count, int n_threads, uint64_t* out) {
    parallel_chunks(digest_chunks(count), n_threads, [&](int64_t chunk, int) {
        const int64_t begin = chunk * kDigestChunk;
        out[chunk] = xxh64::digest(bytes + begin, std::min(kDigestChunk, count - begin));
    });
}

}  // namespace lowdim

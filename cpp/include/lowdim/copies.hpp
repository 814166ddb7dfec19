// Copies of memory on several threads, at the speed of memory rather than of one core.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "lowdim/parallel.hpp"

namespace lowdim {

constexpr int64_t kCopyChunk = int64_t(1) << 20;  // bytes that a thread copies at once

// Copies `rows` rows of `width` bytes; the rows of both sides begin `stride` bytes apart.
inline void copy_rows(const uint8_t* from, int64_t from_stride, uint8_t* to, int64_t to_stride,
                      int64_t rows, int64_t width, int n_threads) {
    if (from_stride == width && to_stride == width) {
        width *= rows;
        rows = 1;
    }
    parallel_ranges(rows * width, kCopyChunk, n_threads, [&](int64_t at, int64_t end, int) {
        while (at < end) {
            const int64_t row = at / width, begin = at % width;
            const int64_t count = std::min(width - begin, end - at);
            std::memcpy(to + row * to_stride + begin, from + row * from_stride + begin,
                        size_t(count));
            at += count;
        }
    });
}

}  // namespace lowdim

// The bounding box of points, and the extremes of values.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "lowdim/parallel.hpp"

namespace lowdim {

// The least and the greatest coordinate of n > 0 points along every axis.
template <class T>
void bounds(const T* y, int64_t n, int dim, int n_threads, double* low, double* high) {
    constexpr int64_t kChunk = 4096, kPoints = 8;  // points whose extremes are found side by side
    std::vector<T> parts(static_cast<size_t>((n + kChunk - 1) / kChunk * 2 * dim));
    parallel_ranges(n, kChunk, n_threads, [&](int64_t begin, int64_t end, int) {
        const auto lanes = static_cast<size_t>(kPoints * dim);
        std::vector<T> low_lanes(lanes), high_lanes(lanes);
        for (size_t l = 0; l < lanes; ++l)
            low_lanes[l] = high_lanes[l] = y[begin * dim + int64_t(l) % dim];
        int64_t i = begin;
        for (; i + kPoints <= end; i += kPoints) {
            const T* some = y + i * dim;
            for (size_t l = 0; l < lanes; ++l) {
                low_lanes[l] = some[l] < low_lanes[l] ? some[l] : low_lanes[l];
                high_lanes[l] = some[l] > high_lanes[l] ? some[l] : high_lanes[l];
            }
        }
        for (; i < end; ++i)
            for (size_t c = 0; c < size_t(dim); ++c) {
                low_lanes[c] = std::min(low_lanes[c], y[i * dim + int64_t(c)]);
                high_lanes[c] = std::max(high_lanes[c], y[i * dim + int64_t(c)]);
            }
        T* least = parts.data() + begin / kChunk * 2 * dim;
        T* greatest = least + dim;
        for (size_t c = 0; c < size_t(dim); ++c) {
            least[c] = low_lanes[c];
            greatest[c] = high_lanes[c];
            for (size_t l = c; l < lanes; l += size_t(dim)) {
                least[c] = std::min(least[c], low_lanes[l]);
                greatest[c] = std::max(greatest[c], high_lanes[l]);
            }
        }
    });
    for (int c = 0; c < dim; ++c) {
        low[c] = high[c] = double(y[c]);
        for (auto part = size_t(c); part < parts.size(); part += size_t(2 * dim)) {
            low[c] = std::min(low[c], double(parts[part]));
            high[c] = std::max(high[c], double(parts[part + size_t(dim)]));
        }
    }
}

// The least and the greatest of n > 0 values; both are NaN if a value is.
template <class T>
void extremes(const T* values, int64_t n, int n_threads, double* low, double* high) {
    constexpr int64_t kChunk = 1 << 18, kWide = 16;  // values that are compared side by side
    std::vector<double> lows(static_cast<size_t>((n + kChunk - 1) / kChunk)), highs(lows.size());
    parallel_ranges(n, kChunk, n_threads, [&](int64_t begin, int64_t end, int) {
        T least[kWide], greatest[kWide];
        T unordered[kWide] = {};  // 1 where NaN was seen
        std::fill_n(least, kWide, values[begin]);
        std::fill_n(greatest, kWide, values[begin]);
        const auto look = [&](T value, int64_t l) {
            least[l] = value < least[l] ? value : least[l];
            greatest[l] = value > greatest[l] ? value : greatest[l];
            unordered[l] = value == value ? unordered[l] : T(1);
        };
        int64_t i = begin;
        for (; i + kWide <= end; i += kWide)
            for (int64_t l = 0; l < kWide; ++l) look(values[i + l], l);
        for (; i < end; ++i) look(values[i], 0);
        const bool any = *std::max_element(unordered, unordered + kWide) > 0;
        constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
        const auto chunk = size_t(begin / kChunk);
        lows[chunk] = any ? kNaN : double(*std::min_element(least, least + kWide));
        highs[chunk] = any ? kNaN : double(*std::max_element(greatest, greatest + kWide));
    });
    *low = lows[0];
    *high = highs[0];
    for (size_t c = 0; c < lows.size(); ++c) {
        if (!(lows[c] >= *low)) *low = lows[c];
        if (!(highs[c] <= *high)) *high = highs[c];
        if (std::isnan(lows[c])) break;
    }
}

}  // namespace lowdim

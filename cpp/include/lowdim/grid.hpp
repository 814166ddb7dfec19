// Points to a grid and back, by cardinal B-splines of order six, in one or two dimensions. Between
// the two a convolution on the grid, by FFT, sums a smooth function over all pairs of points; its
// gradient comes from the derivatives of the splines.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "lowdim/buckets.hpp"
#include "lowdim/kernels.hpp"
#include "lowdim/parallel.hpp"

namespace lowdim {

// The indices of points in the order of bands of the first axis; band b begins at starts[b]. Points
// two bands apart share no node: a band is one row wider than a spline (with its padding on the
// only axis of a line), because rounding in the kernel may move a point by one row.
struct Bands {
    Buffer<int32_t> order;
    std::vector<int64_t> starts;

    template <class T>
    Bands(const T* y, int64_t n, const Grid& grid, int n_threads) : order(size_t(n)) {
        constexpr int64_t kPoints = 1024;
        const int64_t height = (grid.dim == 1 ? kSplineWidth : kSplineOrder) + 1;
        starts = sort_into_buckets(
            (n + kPoints - 1) / kPoints, (grid.rows + height - 1) / height, n_threads,
            [&](int64_t block, auto&& emit) {
                for (int64_t i = block * kPoints; i < std::min(n, (block + 1) * kPoints); ++i) {
                    const double place = (double(y[i * grid.dim]) - grid.origin[0]) / grid.step;
                    const double row = std::clamp(place, 0.0, double(grid.rows - kSplineWidth));
                    emit(int64_t(row) / height, int32_t(i));
                }
            },
            [&](int64_t place, int32_t i) { order[size_t(place)] = i; });
    }
};

namespace detail {

// Each of a fixed number of blocks of points has a grid of its own; their sum is the field.
template <class T>
void spread_to_copies(const T* y, const T* charge, int64_t n, const Grid& grid, int n_threads,
                      T* field) {
    constexpr int64_t kCopies = 16;
    const int64_t nodes = grid.rows * grid.stride, block = (n + kCopies - 1) / kCopies;
    Buffer<T> copies(static_cast<size_t>(kCopies * nodes));
    parallel_chunks(kCopies, n_threads, [&](int64_t c, int) {
        T* own = copies.data() + c * nodes;
        std::fill(own, own + nodes, T(0));
        const int64_t first = std::min(n, c * block), last = std::min(n, first + block);
        kernels<T>().spread(y, charge, nullptr, first, last, grid, own);
    });
    parallel_ranges(nodes, 1024, n_threads, [&](int64_t begin, int64_t end, int) {
        std::copy(copies.data() + begin, copies.data() + end, field + begin);
        for (int64_t c = 1; c < kCopies; ++c)
            for (int64_t g = begin; g < end; ++g) field[g] += copies[size_t(c * nodes + g)];
    });
}

// Bands that share no node at the same time.
template <class T>
void spread_by_bands(const T* y, const T* charge, int64_t n, const Grid& grid, int n_threads,
                     T* field) {
    const Bands bands(y, n, grid, n_threads);
    const auto count = static_cast<int64_t>(bands.starts.size()) - 1;
    parallel_ranges(grid.rows, 16, n_threads, [&](int64_t begin, int64_t end, int) {
        std::fill(field + begin * grid.stride, field + end * grid.stride, T(0));
    });
    for (int64_t parity = 0; parity < 2; ++parity) {
        std::vector<int64_t> some;
        for (int64_t band = parity; band < count; band += 2) some.push_back(band);
        // The fullest first, so that no thread is left with a long one at the end.
        const auto size = [&](int64_t band) {
            return bands.starts[size_t(band) + 1] - bands.starts[size_t(band)];
        };
        std::stable_sort(some.begin(), some.end(),
                         [&](int64_t a, int64_t b) { return size(a) > size(b); });
        parallel_chunks(int64_t(some.size()), n_threads, [&](int64_t c, int) {
            const auto band = size_t(some[size_t(c)]);
            kernels<T>().spread(y, charge, bands.order.data(), bands.starts[band],
                                bands.starts[band + 1], grid, field);
        });
    }
}

}  // namespace detail

// field[g] = sum_i charge_i B_g(y_i); charges may be null: all one. The field is overwritten.
template <class T>
void spread(const T* y, const T* charge, int64_t n, const Grid& grid, int n_threads, T* field) {
    // A small grid has too few bands for many threads, and its copies are cheap.
    constexpr int64_t kFewRows = 256, kPointsPerNode = 2;
    const bool small = grid.rows < kFewRows && n > kPointsPerNode * grid.rows * grid.stride;
    const auto algorithm = small ? detail::spread_to_copies<T> : detail::spread_by_bands<T>;
    algorithm(y, charge, n, grid, n_threads, field);
}

// value_i = offset + sum_g field[g] B_g(y_i), and `scale` times the gradient of the sum by y_i.
template <class T>
void gather(const T* field, const Grid& grid, const T* y, int64_t n, T offset, T scale,
            int n_threads, T* value, T* gradient) {
    parallel_ranges(n, 512, n_threads, [&](int64_t begin, int64_t end, int) {
        kernels<T>().gather(field, grid, y, begin, end, value, gradient);
        for (int64_t i = begin; i < end; ++i) value[i] += offset;
        for (int64_t k = begin * grid.dim; k < end * grid.dim; ++k) gradient[k] *= scale;
    });
}

}  // namespace lowdim

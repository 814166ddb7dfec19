// Points to a grid and back, by cardinal B-splines of order six, in one or two dimensions. Between
// the two a convolution on the grid, by FFT, sums a smooth function over all pairs of points; its
// gradient comes from the derivatives of the splines.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "lowdim/kernels.hpp"
#include "lowdim/parallel.hpp"

namespace lowdim {

// Points in the order of bands of the first axis; band b begins at
// starts[b]. A band is wider than a spline, so that points two bands apart share no node.
struct Bands {
    static constexpr int64_t kRows = 16;
    std::vector<int32_t> order;
    std::vector<int64_t> starts;

    template <class T>
    Bands(const T* y, int64_t n, const Grid& grid) {
        const int64_t count = (grid.rows + kRows - 1) / kRows;
        std::vector<int32_t> band(static_cast<size_t>(n));
        starts.assign(static_cast<size_t>(count) + 1, 0);
        for (int64_t i = 0; i < n; ++i) {
            const double place = (double(y[i * grid.dim]) - grid.origin[0]) / grid.step;
            const double row = std::clamp(place, 0.0, double(grid.rows - 1));
            band[size_t(i)] = static_cast<int32_t>(int64_t(row) / kRows);
            ++starts[size_t(band[size_t(i)]) + 1];
        }
        for (int64_t b = 0; b < count; ++b) starts[size_t(b) + 1] += starts[size_t(b)];
        order.resize(static_cast<size_t>(n));
        std::vector<int64_t> at(starts.begin(), starts.end() - 1);
        for (int64_t i = 0; i < n; ++i) order[size_t(at[size_t(band[size_t(i)])]++)] = int32_t(i);
    }
};

// The least and the greatest coordinate of n > 0 points along every axis.
template <class T>
void bounds(const T* y, int64_t n, int dim, double* low, double* high) {
    for (int c = 0; c < dim; ++c) low[c] = high[c] = double(y[c]);
    for (int64_t i = 0; i < n; ++i)
        for (int c = 0; c < dim; ++c) {
            const auto v = double(y[i * dim + c]);
            low[c] = v < low[c] ? v : low[c];
            high[c] = v > high[c] ? v : high[c];
        }
}

// field[g] = sum_i charge_i B_g(y_i); charges may be null: all one. The field is overwritten.
template <class T>
void spread(const T* y, const T* charge, int64_t n, const Grid& grid, int n_threads, T* field) {
    const Bands bands(y, n, grid);
    const auto count = static_cast<int64_t>(bands.starts.size()) - 1;
    parallel_ranges(grid.rows, 32, n_threads, [&](int64_t begin, int64_t end, int) {
        std::fill(field + begin * grid.stride, field + end * grid.stride, T(0));
    });
    for (int64_t parity = 0; parity < 2; ++parity)
        parallel_chunks((count + 1 - parity) / 2, n_threads, [&](int64_t half, int) {
            const int64_t first = bands.starts[size_t(2 * half + parity)];
            const int64_t last = bands.starts[size_t(2 * half + parity) + 1];
            kernels<T>().spread(y, charge, bands.order.data() + first, last - first, grid, field);
        });
}

// value_i = sum_g field[g] B_g(y_i) and its gradient by y_i, band by band.
template <class T>
void gather(const T* field, const Grid& grid, const T* y, int64_t n, int n_threads, T* value,
            T* gradient) {
    const Bands bands(y, n, grid);
    parallel_ranges(n, 1024, n_threads, [&](int64_t begin, int64_t end, int) {
        kernels<T>().gather(field, grid, y, bands.order.data() + begin, end - begin, value,
                            gradient);
    });
}

}  // namespace lowdim

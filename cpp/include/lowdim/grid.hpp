// Points to a grid and back, by cardinal B-splines of order six, in one or two dimensions. Between
// the two a convolution on the grid, by FFT, sums a smooth function over all pairs of points; its
// gradient comes from the splines' own derivatives.
#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "lowdim/parallel.hpp"

namespace lowdim {

inline constexpr int kSpline = 6;  // nodes that a point touches on each axis

struct Grid {
    int dim;                       // axes
    int64_t rows, columns;         // nodes of the first and the second axis
    std::array<double, 2> origin;  // the place of node (0, 0)
    double step;                   // between nodes
};

// A point among the nodes of one axis: the first node it touches, its weights there, and their
// derivatives by the place in units of the step. Points beyond the outermost nodes are held there.
template <class T>
struct Touch {
    int64_t first;
    std::array<T, kSpline> weight, slope;

    Touch(T place, int64_t nodes) {
        const T low = kSpline / 2 - 1, high = static_cast<T>(nodes - kSpline / 2 - 1);
        place = std::clamp(place, low, high);
        const auto floor = std::min(static_cast<int64_t>(place), nodes - kSpline / 2 - 1);
        const T t = place - static_cast<T>(floor);
        first = floor - (kSpline / 2 - 1);
        // M_k(t + j) by the recursion of cardinal splines, order by order, into weight[j].
        std::array<T, kSpline> lower{};
        weight.fill(0);
        weight[0] = 1;
        for (int k = 2; k <= kSpline; ++k) {
            lower = weight;
            const T scale = T(1) / static_cast<T>(k - 1);
            for (int j = k - 1; j >= 0; --j) {
                const T u = t + static_cast<T>(j);
                const T before = j > 0 ? lower[size_t(j) - 1] : T(0);
                weight[size_t(j)] =
                    (u * lower[size_t(j)] + (static_cast<T>(k) - u) * before) * scale;
            }
        }
        for (int j = 0; j < kSpline; ++j)
            slope[size_t(j)] = lower[size_t(j)] - (j > 0 ? lower[size_t(j) - 1] : T(0));
        std::reverse(weight.begin(), weight.end());
        std::reverse(slope.begin(), slope.end());
    }
};

// Points in the order of bands of the first axis; `starts` tells where each band begins. A band is
// wider than a spline, so that points two bands apart touch no node in common.
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

// field[g] = sum_i charge_i B_g(y_i); charges may be null: all one. The field (rows, columns) has
// `stride` numbers a row and is overwritten.
template <class T>
void spread(const T* y, const T* charge, int64_t n, const Grid& grid, int64_t stride, int n_threads,
            T* field) {
    const Bands bands(y, n, grid);
    const auto count = static_cast<int64_t>(bands.starts.size()) - 1;
    parallel_ranges(grid.rows, 32, n_threads, [&](int64_t begin, int64_t end, int) {
        std::fill(field + begin * stride, field + end * stride, T(0));
    });
    const T scale = static_cast<T>(1 / grid.step);
    for (int64_t parity = 0; parity < 2; ++parity)
        parallel_chunks((count + 1 - parity) / 2, n_threads, [&](int64_t half, int) {
            const int64_t b = 2 * half + parity;
            for (int64_t k = bands.starts[size_t(b)]; k < bands.starts[size_t(b) + 1]; ++k) {
                const int64_t i = bands.order[size_t(k)];
                const T own = charge != nullptr ? charge[i] : T(1);
                const Touch<T> row((y[i * grid.dim] - T(grid.origin[0])) * scale, grid.rows);
                if (grid.dim == 1) {
                    for (int a = 0; a < kSpline; ++a)
                        field[row.first + a] += own * row.weight[size_t(a)];
                    continue;
                }
                const Touch<T> column((y[i * 2 + 1] - T(grid.origin[1])) * scale, grid.columns);
                for (int a = 0; a < kSpline; ++a) {
                    T* line = field + (row.first + a) * stride + column.first;
                    const T w = own * row.weight[size_t(a)];
                    for (int c = 0; c < kSpline; ++c) line[c] += w * column.weight[size_t(c)];
                }
            }
        });
}

// value_i = sum_g field[g] B_g(y_i) and its gradient by y_i.
template <class T>
void gather(const T* field, int64_t stride, const Grid& grid, const T* y, int64_t n, int n_threads,
            T* value, T* gradient) {
    const T scale = static_cast<T>(1 / grid.step);
    parallel_ranges(n, 1024, n_threads, [&](int64_t begin, int64_t end, int) {
        for (int64_t i = begin; i < end; ++i) {
            const Touch<T> row((y[i * grid.dim] - T(grid.origin[0])) * scale, grid.rows);
            T sum = 0, down = 0, across = 0;
            if (grid.dim == 1) {
                for (int a = 0; a < kSpline; ++a) {
                    sum += row.weight[size_t(a)] * field[row.first + a];
                    down += row.slope[size_t(a)] * field[row.first + a];
                }
            } else {
                const Touch<T> column((y[i * 2 + 1] - T(grid.origin[1])) * scale, grid.columns);
                for (int a = 0; a < kSpline; ++a) {
                    const T* line = field + (row.first + a) * stride + column.first;
                    T inner = 0, slope = 0;
                    for (int c = 0; c < kSpline; ++c) {
                        inner += column.weight[size_t(c)] * line[c];
                        slope += column.slope[size_t(c)] * line[c];
                    }
                    sum += row.weight[size_t(a)] * inner;
                    down += row.slope[size_t(a)] * inner;
                    across += row.weight[size_t(a)] * slope;
                }
                gradient[i * 2 + 1] = across * scale;
            }
            value[i] = sum;
            gradient[i * grid.dim] = down * scale;
        }
    });
}

}  // namespace lowdim

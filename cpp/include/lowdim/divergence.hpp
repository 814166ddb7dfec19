// Row-wise divergences between the neighbours' probabilities of the data and of a map, over all
// pairs, with their gradient; and new points placed by their own row.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "lowdim/kernels.hpp"
#include "lowdim/parallel.hpp"
#include "lowdim/stress.hpp"

namespace lowdim {

// What a row minimises: trade_off KL(p || q) + (1 - trade_off) KL(q || p), q averaged over scales.
struct Mixture {
    int n_scales;
    double trade_off;
};

// Buffers for one row of n others, and the slopes of the row that was evaluated last.
class DivergenceRow {
  public:
    DivergenceRow(int64_t n, int dim, const Mixture& mixture)
        : n_(n),
          dim_(dim),
          mixture_(mixture),
          cost_(size_t(n)),
          weight_(size_t(n)),
          square_(size_t(n)),
          slope_(size_t(n)),
          work_(size_t(n) * size_t(mixture.n_scales + 2)) {}

    // The others are points [0, skip) and [skip + 1, n + 1) of x, stored dimension by dimension.
    // Their weights may be null: all one.
    template <class T>
    void evaluate(const T* cost, const T* weight, const double* precision, const double* at,
                  const double* x, int64_t stride, int64_t skip, double* divergences) {
        std::copy(cost, cost + n_, cost_.begin());
        if (weight != nullptr) std::copy(weight, weight + n_, weight_.begin());
        std::fill(square_.begin(), square_.end(), 0.0);
        for (int c = 0; c < dim_; ++c) {
            const double *before = x + c * stride, *after = before + 1, here = at[c];
            for (int64_t j = 0; j < skip; ++j)
                square_[size_t(j)] += (here - before[j]) * (here - before[j]);
            for (int64_t j = skip; j < n_; ++j)
                square_[size_t(j)] += (here - after[j]) * (here - after[j]);
        }
        kernels<double>().divergence_row(
            cost_.data(), weight ? weight_.data() : nullptr, square_.data(), n_, precision,
            mixture_.n_scales, mixture_.trade_off, work_.data(), slope_.data(), divergences);
    }

    // sum_j 2 slope_j (at - x_j) in one coordinate; subtracts the terms from `pulls` unless null.
    double pull(double at, const double* x, int64_t skip, double* pulls) const {
        const auto& table = kernels<double>();
        const double before = table.slope_gradient(slope_.data(), x, skip, at, pulls);
        if (skip == n_) return before;
        return before + table.slope_gradient(slope_.data() + skip, x + skip + 1, n_ - skip, at,
                                             pulls ? pulls + skip + 1 : nullptr);
    }

  private:
    int64_t n_;
    int dim_;
    Mixture mixture_;
    std::vector<double> cost_, weight_, square_, slope_, work_;
};

// The sums over i of KL(p_i || q_i) and of KL(q_i || p_i), and the gradient of their mixture. Row i
// of `costs` holds -log p of the other n - 1 objects in order, row i of `precisions` one for each
// scale, ascending; y is stored dimension by dimension, the gradient point by point. Computed in
// double precision for either type of matrix. A row acts on all points, so rows are cut into parts
// by their number alone, each with a buffer of its own, and the buffers are added in order.
template <class T>
void divergence_gradient(const T* costs, const double* precisions, const double* y, int64_t n,
                         int dim, const Mixture& mixture, int n_threads, double* gradient,
                         double* divergences) {
    const int64_t count = std::clamp<int64_t>(n / 16, 1, kMaxParts), others = n - 1;
    std::vector<double> parts(size_t(count * n * dim), 0.0), sums(size_t(2 * count), 0.0);
    parallel_chunks(count, n_threads, [&](int64_t part, int) {
        DivergenceRow row(others, dim, mixture);
        std::vector<double> at(static_cast<size_t>(dim));
        double* pulls = parts.data() + part * n * dim;
        for (int64_t i = n * part / count; i < n * (part + 1) / count; ++i) {
            for (int c = 0; c < dim; ++c) at[size_t(c)] = y[c * n + i];
            double found[2];
            row.evaluate<T>(costs + i * others, nullptr, precisions + i * mixture.n_scales,
                            at.data(), y, n, i, found);
            sums[size_t(2 * part)] += found[0];
            sums[size_t(2 * part + 1)] += found[1];
            for (int c = 0; c < dim; ++c)
                pulls[c * n + i] += row.pull(at[size_t(c)], y + c * n, i, pulls + c * n);
        }
    });
    add_parts(parts, n * dim, count, n_threads,
              [&](int64_t k, double sum) { gradient[(k % n) * dim + k / n] = sum; });
    divergences[0] = divergences[1] = 0;
    for (int64_t part = 0; part < count; ++part) {
        divergences[0] += sums[size_t(2 * part)];
        divergences[1] += sums[size_t(2 * part + 1)];
    }
}

// -log of the mean over scales of Gaussian probabilities, for lists of squared distances.
template <class T>
void mixture_costs(const int64_t* indptr, int64_t n, const T* squared, const T* weights,
                   const T* precisions, int n_scales, int n_threads, T* costs) {
    parallel_ranges(n, 256, n_threads, [&](int64_t begin, int64_t end, int) {
        std::vector<T> work;
        for (int64_t i = begin; i < end; ++i) {
            const int64_t first = indptr[i], count = indptr[i + 1] - first;
            if (count == 0) continue;
            work.resize(size_t(2 * count));
            kernels<T>().mixture_row(weights + first, squared + first, count,
                                     precisions + i * n_scales, n_scales, work.data(),
                                     costs + first);
        }
    });
}

// Squared distances of the point at `at` from listed points of y, and the gradient of a row from
// its slopes: its own part is returned in `own`, that of the listed points is subtracted from
// `pulls`. The dimension is known to the compiler if Dim > 0.
template <int Dim, class T>
void listed_squares(const double* at, const double* y, const int32_t* others, int64_t length,
                    int dim, T* square) {
    const int d = Dim > 0 ? Dim : dim;
    for (int64_t k = 0; k < length; ++k) {
        const double* other = y + int64_t(others[k]) * d;
        double s = 0;
        for (int c = 0; c < d; ++c) s += (at[c] - other[c]) * (at[c] - other[c]);
        square[k] = static_cast<T>(s);
    }
}

template <int Dim, class T>
void listed_pulls(const double* at, const double* y, const int32_t* others, int64_t length, int dim,
                  const T* slope, double* own, double* pulls) {
    const int d = Dim > 0 ? Dim : dim;
    double sums[Dim > 0 ? Dim : 1] = {};
    for (int64_t k = 0; k < length; ++k) {
        const int64_t j = int64_t(others[k]) * d;
        const double pull = 2 * double(slope[k]);
        for (int c = 0; c < d; ++c) {
            const double step = pull * (at[c] - y[j + c]);
            (Dim > 0 ? sums : own)[c] += step;
            pulls[j + c] -= step;
        }
    }
    for (int c = 0; c < Dim; ++c) own[c] += sums[c];
}

// `divergence_gradient` for lists of some of the other objects, each with a weight: row i is the
// objects indices[indptr[i]], ..., indices[indptr[i + 1] - 1]. y and gradient are stored point by
// point. Rows are computed in the precision of the costs. They are filled up with entries of weight
// 0 to whole sets of lanes, because items left over would be computed one by one.
template <class T>
void listed_divergence_gradient(const int64_t* indptr, const int32_t* indices, const T* costs,
                                const T* weights, const T* precisions, const double* y, int64_t n,
                                int dim, const Mixture& mixture, int n_threads, double* gradient,
                                double* divergences) {
    constexpr int64_t kWhole = 64 / sizeof(T);
    const int64_t count = std::clamp<int64_t>(n / 16, 1, kMaxParts);
    const auto squares = dim == 2 ? listed_squares<2, T> : listed_squares<0, T>;
    const auto add_pulls = dim == 2 ? listed_pulls<2, T> : listed_pulls<0, T>;
    int64_t longest = 0;
    for (int64_t i = 0; i < n; ++i) longest = std::max(longest, indptr[i + 1] - indptr[i]);
    std::vector<double> parts(size_t(count * n * dim), 0.0), sums(size_t(2 * count), 0.0);
    parallel_chunks(count, n_threads, [&](int64_t part, int) {
        const auto& table = kernels<T>();
        std::vector<T> square(size_t(longest + kWhole)), slope(square.size());
        std::vector<T> cost(square.size()), weight(square.size());
        std::vector<T> work(square.size() * size_t(mixture.n_scales + 2));
        std::vector<double> own(static_cast<size_t>(dim));
        double* pulls = parts.data() + part * n * dim;
        for (int64_t i = n * part / count; i < n * (part + 1) / count; ++i) {
            const int64_t first = indptr[i], length = indptr[i + 1] - first;
            if (length == 0) continue;
            const double* at = y + i * dim;
            squares(at, y, indices + first, length, dim, square.data());
            std::copy(costs + first, costs + first + length, cost.begin());
            std::copy(weights + first, weights + first + length, weight.begin());
            int64_t filled = length;
            for (; filled % kWhole != 0; ++filled) {
                cost[size_t(filled)] = weight[size_t(filled)] = 0;
                square[size_t(filled)] = square[size_t(length - 1)];
            }
            double found[2];
            table.divergence_row(cost.data(), weight.data(), square.data(), filled,
                                 precisions + i * mixture.n_scales, mixture.n_scales,
                                 static_cast<T>(mixture.trade_off), work.data(), slope.data(),
                                 found);
            sums[size_t(2 * part)] += found[0];
            sums[size_t(2 * part + 1)] += found[1];
            std::fill(own.begin(), own.end(), 0.0);
            add_pulls(at, y, indices + first, length, dim, slope.data(), own.data(), pulls);
            for (int c = 0; c < dim; ++c) pulls[i * dim + c] += own[size_t(c)];
        }
    });
    add_parts(parts, n * dim, count, n_threads, [&](int64_t k, double sum) { gradient[k] = sum; });
    divergences[0] = divergences[1] = 0;
    for (int64_t part = 0; part < count; ++part) {
        divergences[0] += sums[size_t(2 * part)];
        divergences[1] += sums[size_t(2 * part + 1)];
    }
}

// New points on a fixed map x (dim, n), each at a minimum of the mixture of its own row: from
// the best of its `n_starts` starts by gradient steps of Barzilai and Borwein's length, halved
// until the value falls. Rows are independent of each other. With `indices` (new, width), a row has
// these points only, each with a weight; otherwise both are null and the width is n.
template <class T>
void place_by_divergence(const T* costs, const int32_t* indices, const T* weights, int64_t n_others,
                         const double* precisions, int64_t n_new, const double* x, int64_t n,
                         int dim, const Mixture& mixture, const double* starts, int64_t n_starts,
                         int max_iter, double tol, int n_threads, double* y) {
    constexpr double kEnough = 1e-4;  // of the decrease that the gradient promises
    constexpr int kHalvings = 30;
    const auto width = static_cast<size_t>(dim);
    parallel_ranges(n_new, 4, n_threads, [&](int64_t begin, int64_t end, int) {
        DivergenceRow row(n_others, dim, mixture);
        std::vector<double> listed(indices != nullptr ? size_t(n_others) * width : 0);
        std::vector<double> at(width), next(width), gradient(width), slope(width);
        for (int64_t r = begin; r < end; ++r) {
            const double* precision = precisions + r * mixture.n_scales;
            for (int c = 0; c < dim && indices != nullptr; ++c)
                for (int64_t k = 0; k < n_others; ++k)
                    listed[size_t(c * n_others + k)] = x[c * n + indices[r * n_others + k]];
            const double* others = indices != nullptr ? listed.data() : x;
            auto evaluate = [&](const std::vector<double>& place, std::vector<double>& down) {
                double found[2];
                row.evaluate(costs + r * n_others, weights ? weights + r * n_others : nullptr,
                             precision, place.data(), others, n_others, n_others, found);
                for (int c = 0; c < dim; ++c)
                    down[size_t(c)] =
                        row.pull(place[size_t(c)], others + c * n_others, n_others, nullptr);
                return mixture.trade_off * found[0] + (1 - mixture.trade_off) * found[1];
            };
            double value = 0, finest = precision[mixture.n_scales - 1];
            for (int64_t s = 0; s < n_starts; ++s) {
                const double* start = starts + (r * n_starts + s) * dim;
                std::copy(start, start + dim, next.begin());
                const double tried = evaluate(next, slope);
                if (s == 0 || tried < value) {
                    value = tried;
                    at = next;
                    gradient = slope;
                }
            }
            double length = finest > 0 ? 1 / (2 * finest) : 0;
            for (int step = 0; step < max_iter && length > 0; ++step) {
                double square = 0;
                for (double g : gradient) square += g * g;
                double after = value;
                bool lower = false;
                for (int halving = 0; halving < kHalvings && !lower; ++halving) {
                    for (size_t c = 0; c < width; ++c) next[c] = at[c] - length * gradient[c];
                    after = evaluate(next, slope);
                    lower = after < value - kEnough * length * square;
                    if (!lower) length /= 2;
                }
                if (!lower) break;
                double along = 0, bend = 0;
                for (size_t c = 0; c < width; ++c) {
                    along += (next[c] - at[c]) * (next[c] - at[c]);
                    bend += (next[c] - at[c]) * (slope[c] - gradient[c]);
                }
                const bool small = along * finest < tol * tol;
                std::swap(at, next);
                std::swap(gradient, slope);
                value = after;
                if (small) break;
                length = bend > 0 ? along / bend : 2 * length;
            }
            std::copy(at.begin(), at.end(), y + r * dim);
        }
    });
}

}  // namespace lowdim

// The expected errors of classification by a stochastic neighbour, and their gradient.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "lowdim/aligned.hpp"
#include "lowdim/elementary.hpp"
#include "lowdim/kernels.hpp"
#include "lowdim/parallel.hpp"

namespace lowdim {

// The rows of points are cut into parts by their number alone. Each part has a buffer of the sums
// of all rows, and the buffers are added in order.
inline int64_t stochastic_parts(int64_t n) {
    constexpr int64_t kRows = 256, kMostParts = 16;
    return std::clamp<int64_t>(n / kRows, 1, kMostParts);
}

// Points with classes, in the two layouts that the kernels read. The score of point j for point i
// is 2 z_i.z_j - |z_j|^2, the negative squared distance up to a constant of i, which a softmax does
// not see. Scores are computed in the arithmetic of Score, all that follows from them in that of T.
template <class Score, class T>
class LabelledPoints {
  public:
    // `z` are coordinates relative to the centre; `classes` ascend.
    LabelledPoints(const double* z, const double* squares, const int32_t* classes, int64_t n,
                   int dim)
        : n_(n),
          dim_(dim),
          stride_((dim / kColumns + (dim % kColumns > 0)) * kColumns),
          n_panels_((n + kPoints - 1) / kPoints),
          n_rows_((n + kQuad + kPoints - 1) / kPoints * kPoints),
          classes_(classes),
          rows_(size_t(n_rows_ * stride_), T(0)),
          panels_(size_t(n_panels_ * kPoints * dim), Score(0)),
          start_(size_t(n_panels_ * kPoints), -std::numeric_limits<Score>::infinity()) {
        for (int64_t j = 0; j < n; ++j) {
            T* row = rows_.data() + j * stride_;
            Score* panel = panels_.data() + in_panels(j);
            for (int c = 0; c < dim; ++c) row[c] = T(z[j * dim + c]);
            for (int c = 0; c < dim; ++c) panel[c * kPoints] = Score(z[j * dim + c]);
            start_[size_t(j)] = Score(-squares[j]);
        }
    }

    // The buffers of `exchange` have `n_rows` masses and rows of `stride` sums.
    int64_t n_rows() const { return n_rows_; }
    int64_t stride() const { return stride_; }
    const T* row(int64_t i) const { return rows_.data() + i * stride_; }

    // For the points i of [begin, end) and all j, w_ij = p_ij (p_i - [same class]): adds w_ij times
    // row j to row i of `sums`, w_ij times row i to row j, and w_ij to both masses. Returns
    // sum_i 1 - p_i. Probabilities below `negligible` times the largest of their row are left out,
    // and so are weights below it.
    double exchange(int64_t begin, int64_t end, double negligible, T* sums, T* masses) const {
        const auto reach = Score(-exact_log(negligible));
        const int64_t padded = n_panels_ * kPoints;
        const auto in_lists = size_t(kQuad * padded);
        AlignedVector<Score> queries(size_t(dim_ * kPanelQueries)), near(in_lists);
        AlignedVector<Score> scores(size_t(n_panels_ * kScores));
        AlignedVector<T> weights(in_lists), kept(in_lists);
        std::vector<int32_t> ids(static_cast<size_t>(padded)), kept_ids(ids.size());
        double errors = 0;
        for (int64_t i = begin; i < end; i += kQuad) {
            const int64_t place = (i - begin) % kPanelQueries;
            if (place == 0) score(i, queries.data(), scores.data());
            const int64_t count = kernels<Score>().near_scores(
                scores.data() + place * kPoints, n_panels_, reach, ids.data(), near.data(), padded);
            const int32_t *first = ids.data(), *last = first;  // those of the class of i + r
            for (int r = 0; r < kQuad; ++r) {
                T* own = weights.data() + r * padded;
                if (i + r >= end) {
                    std::fill(own, own + count, T(0));
                    continue;
                }
                std::copy_n(near.data() + r * padded, count, own);
                if (r == 0 || classes_[i + r] != classes_[i + r - 1]) {
                    first = of_class(classes_[i + r], last, ids.data() + count);
                    last = of_class(classes_[i + r] + 1, first, ids.data() + count);
                }
                errors += kernels<T>().softmax_weights(
                    own, int32_t(count), int32_t(first - ids.data()), int32_t(last - ids.data()));
            }
            const int64_t n_kept =
                kernels<T>().large_weights(ids.data(), weights.data(), count, padded, T(negligible),
                                           kept_ids.data(), kept.data());
            kernels<T>().exchange_quad(kept_ids.data(), kept.data(), n_kept, padded, rows_.data(),
                                       i, stride_, sums, masses);
        }
        return errors;
    }

  private:
    static constexpr int64_t kPoints = kPanelPoints<Score>;
    static constexpr int kColumns = kQuadColumns<T>;
    static constexpr int64_t kScores = kPanelQueries * kPoints;  // of a panel

    // Where the first coordinate of a point is in the panels; the others follow kPoints apart.
    int64_t in_panels(int64_t j) const { return j / kPoints * kPoints * dim_ + j % kPoints; }

    // The first of some listed points whose class is `least` or a later one.
    const int32_t* of_class(int32_t least, const int32_t* begin, const int32_t* end) const {
        return std::partition_point(begin, end,
                                    [&](int32_t j) { return j < n_ && classes_[j] < least; });
    }

    // Scores of the points [first, first + kPanelQueries), -inf for a point and itself. Beyond the
    // last point that one is repeated.
    void score(int64_t first, Score* queries, Score* scores) const {
        for (int r = 0; r < kPanelQueries; ++r) {
            const Score* own = panels_.data() + in_panels(std::min(first + r, n_ - 1));
            for (int c = 0; c < dim_; ++c) queries[c * kPanelQueries + r] = 2 * own[c * kPoints];
        }
        for (int64_t p = 0; p < n_panels_; ++p)
            kernels<Score>().panel_products(queries, panels_.data() + p * kPoints * dim_,
                                            start_.data() + p * kPoints, dim_,
                                            scores + p * kScores);
        for (int r = 0; r < kPanelQueries; ++r) {
            const int64_t i = std::min(first + r, n_ - 1);
            scores[i / kPoints * kScores + r * kPoints + i % kPoints] =
                -std::numeric_limits<Score>::infinity();
        }
    }

    int64_t n_;
    int dim_;
    int64_t stride_, n_panels_, n_rows_;
    const int32_t* classes_;
    AlignedVector<T> rows_;
    AlignedVector<Score> panels_, start_;
};

// The sum of 1 - p_i and its gradient.
template <class Score, class T>
double stochastic_neighbor_errors(const LabelledPoints<Score, T>& points, int64_t n, int dim,
                                  double negligible, int n_threads, double* gradient) {
    const int64_t count = stochastic_parts(n), stride = points.stride();
    const auto n_masses = size_t(points.n_rows()), n_sums = n_masses * size_t(stride);
    AlignedVector<T> sums(size_t(count) * n_sums, T(0)), masses(size_t(count) * n_masses, T(0));
    std::vector<double> errors(size_t(count), 0.0);
    parallel_chunks(count, n_threads, [&](int64_t part, int) {
        errors[size_t(part)] = points.exchange(n * part / count, n * (part + 1) / count, negligible,
                                               sums.data() + size_t(part) * n_sums,
                                               masses.data() + size_t(part) * n_masses);
    });
    constexpr int64_t kRows = 128;
    parallel_ranges(n, kRows, n_threads, [&](int64_t begin, int64_t end, int) {
        for (int64_t i = begin; i < end; ++i) {
            double mass = 0;
            for (int64_t part = 0; part < count; ++part)
                mass += double(masses[size_t(part) * n_masses + size_t(i)]);
            double* own = gradient + i * dim;
            for (int c = 0; c < dim; ++c) own[c] = -2 * mass * double(points.row(i)[c]);
            for (int64_t part = 0; part < count; ++part) {
                const T* sum = sums.data() + size_t(part) * n_sums + i * stride;
                for (int c = 0; c < dim; ++c) own[c] += 2 * double(sum[c]);
            }
        }
    });
    double total = 0;
    for (double e : errors) total += e;
    return total;
}

// sum_i 1 - p_i, where p_i is the sum of p_ij over the j of the class of i and p_ij the softmax of
// -|z_i - z_j|^2 over all j other than i, and its gradient by z. Points are stored point by point,
// in ascending order of `classes`. Single precision is used for coordinates if their errors are
// then no larger than about `accuracy`, and for squared distances if theirs are. The probabilities
// of a row that are left out add up to less than a tenth of this.
inline double stochastic_neighbor_errors(const double* z, const int32_t* classes, int64_t n,
                                         int dim, double accuracy, int n_threads,
                                         double* gradient) {
    const double negligible = std::clamp(0.1 * accuracy / double(n), 1e-13, 1e-9);
    const auto count = static_cast<size_t>(n), width = static_cast<size_t>(dim);
    std::vector<double> centre(width, 0.0), centred(count * width), squares(count);
    for (int64_t i = 0; i < n; ++i)
        for (int c = 0; c < dim; ++c) centre[size_t(c)] += z[i * dim + c];
    for (double& value : centre) value /= double(n);
    for (int64_t i = 0; i < n; ++i) {
        double* own = centred.data() + i * dim;
        for (int c = 0; c < dim; ++c) own[c] = z[i * dim + c] - centre[size_t(c)];
        squares[size_t(i)] = kernels<double>().dot(own, own, width);
    }
    const double largest = *std::max_element(squares.begin(), squares.end());
    auto errors = [&]<class Score, class T>(LabelledPoints<Score, T> points) {
        return stochastic_neighbor_errors(points, n, dim, negligible, n_threads, gradient);
    };
    // The relative error of a float. Of a probability sum p_i only a part of at most 1 / 2 of the
    // errors of the squared distances is left.
    const double rounding = double(std::numeric_limits<float>::epsilon()) / 2;
    const double reach = -exact_log(negligible);  // the largest distance beyond that of the nearest
    if (std::max(largest, reach) * rounding <= accuracy)
        return errors(
            LabelledPoints<float, float>(centred.data(), squares.data(), classes, n, dim));
    if (std::max(std::sqrt(largest), reach) * rounding <= accuracy)
        return errors(
            LabelledPoints<double, float>(centred.data(), squares.data(), classes, n, dim));
    return errors(LabelledPoints<double, double>(centred.data(), squares.data(), classes, n, dim));
}

}  // namespace lowdim

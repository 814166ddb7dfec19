// The expected errors of classification by a stochastic neighbour, and their gradient.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "lowdim/kernels.hpp"
#include "lowdim/parallel.hpp"

namespace lowdim {

// Points with classes, in the two layouts that the kernels read. The score of point j for point i
// is 2 z_i.z_j - |z_j|^2, the negative squared distance up to a constant of i, which a softmax does
// not see.
template <class T>
class LabelledPoints {
  public:
    // `classes` ascend.
    LabelledPoints(const double* z, const double* centre, const int32_t* classes, int64_t n,
                   int dim)
        : n_(n),
          dim_(dim),
          stride_((dim / kQuadColumns + 1) * kQuadColumns),
          n_panels_((n + kPoints - 1) / kPoints),
          classes_(classes),
          rows_(size_t((n + kQuad) * stride_), T(0)),
          panels_(size_t(n_panels_ * kPoints * dim), T(0)),
          start_(size_t(n_panels_ * kPoints), -std::numeric_limits<T>::infinity()) {
        for (int64_t j = 0; j < n; ++j) {
            T *row = rows_.data() + j * stride_, *panel = in_panel(j);
            double square = 0;
            for (int c = 0; c < dim; ++c) {
                const double value = z[j * dim + c] - centre[c];
                row[c] = panel[c * kPoints] = T(value);
                square += value * value;
            }
            row[dim] = 1;
            start_[size_t(j)] = T(-square);
        }
    }

    // The size of the buffer `sums` of `exchange`. Row i has the coordinates of a point, then a
    // number that belongs to the column of ones.
    size_t size() const { return rows_.size(); }
    int64_t stride() const { return stride_; }
    const T* row(int64_t i) const { return rows_.data() + i * stride_; }

    // For the points i of [begin, end) and all j, w_ij = p_ij (p_i - [same class]): adds w_ij times
    // row j to row i of `sums`, and w_ij times row i to row j. Returns sum_i 1 - p_i. Probabilities
    // below `negligible` times the largest of their row are left out, and so are weights below it.
    double exchange(int64_t begin, int64_t end, T negligible, T* sums) const {
        const T reach = -std::log(negligible);
        const int64_t padded = n_panels_ * kPoints;
        std::vector<T> queries(size_t(dim_ * kPanelQueries)), scores(size_t(n_panels_ * kScores));
        std::vector<T> weights(size_t(kQuad * padded)), packed(size_t(kQuad * padded));
        std::vector<int32_t> ids(static_cast<size_t>(padded));
        double errors = 0;
        for (int64_t i = begin; i < end; i += kQuad) {
            const int64_t place = (i - begin) % kPanelQueries;
            if (place == 0) score(i, queries.data(), scores.data());
            const int64_t count =
                kernels<T>().near_scores(scores.data() + place * kPoints, n_panels_, reach,
                                         ids.data(), weights.data(), padded);
            for (int r = 0; r < kQuad; ++r) {
                T* own = weights.data() + r * padded;
                if (i + r < end)
                    errors += softmax(classes_[i + r], ids.data(), count, own);
                else
                    std::fill(own, own + count, T(0));
            }
            int64_t kept = 0;
            for (int64_t t = 0; t < count; ++t) {  // without a branch, as in near_scores
                T most = 0;
                for (int r = 0; r < kQuad; ++r) {
                    const T weight = weights[size_t(r * padded + t)];
                    packed[size_t(kQuad * kept + r)] = weight;
                    most = std::max(most, std::abs(weight));
                }
                ids[size_t(kept)] = ids[size_t(t)];
                kept += most > negligible;
            }
            kernels<T>().exchange_quad(ids.data(), packed.data(), kept, rows_.data(), i, stride_,
                                       sums);
        }
        return errors;
    }

  private:
    static constexpr int64_t kPoints = kPanelPoints<T>;
    static constexpr int64_t kScores = kPanelQueries * kPoints;  // of a panel

    T* in_panel(int64_t j) { return panels_.data() + j / kPoints * kPoints * dim_ + j % kPoints; }

    // Scores of the points [first, first + kPanelQueries), -inf for a point and itself. Beyond the
    // last point that one is repeated.
    void score(int64_t first, T* queries, T* scores) const {
        for (int r = 0; r < kPanelQueries; ++r) {
            const T* own = row(std::min(first + r, n_ - 1));
            for (int c = 0; c < dim_; ++c) queries[c * kPanelQueries + r] = 2 * own[c];
        }
        for (int64_t p = 0; p < n_panels_; ++p)
            kernels<T>().panel_products(queries, panels_.data() + p * kPoints * dim_,
                                        start_.data() + p * kPoints, dim_, scores + p * kScores);
        for (int r = 0; r < kPanelQueries; ++r) {
            const int64_t i = std::min(first + r, n_ - 1);
            scores[i / kPoints * kScores + r * kPoints + i % kPoints] =
                -std::numeric_limits<T>::infinity();
        }
    }

    // Weights instead of the scores of the listed points, for a point of the given class.
    double softmax(int32_t own_class, const int32_t* ids, int64_t count, T* scores) const {
        auto below = [&](int32_t bound) {  // number of listed points of lower classes
            return std::partition_point(ids, ids + count,
                                        [&](int32_t j) { return classes_[j] < bound; }) -
                   ids;
        };
        return kernels<T>().softmax_weights(scores, count, below(own_class), below(own_class + 1));
    }

    int64_t n_;
    int dim_;
    int64_t stride_, n_panels_;
    const int32_t* classes_;
    std::vector<T> rows_, panels_, start_;
};

// The sum of 1 - p_i and its gradient, in the arithmetic of T. Points are cut into parts by their
// number alone, each with a buffer of its own, and the buffers are added in order.
template <class T>
double stochastic_neighbor_errors(const LabelledPoints<T>& points, int64_t n, int dim,
                                  double negligible, int n_threads, double* gradient) {
    constexpr int64_t kRows = 128, kMostParts = 16;
    const int64_t count = std::clamp<int64_t>(n / kRows, 1, kMostParts);
    const auto size = points.size();
    std::vector<T> parts(size_t(count) * size, T(0));
    std::vector<double> errors(size_t(count), 0.0);
    parallel_chunks(count, n_threads, [&](int64_t part, int) {
        errors[size_t(part)] = points.exchange(n * part / count, n * (part + 1) / count,
                                               T(negligible), parts.data() + size_t(part) * size);
    });
    parallel_ranges(n, kRows, n_threads, [&](int64_t begin, int64_t end, int) {
        std::vector<double> sum(static_cast<size_t>(dim + 1));
        for (int64_t i = begin; i < end; ++i) {
            std::fill(sum.begin(), sum.end(), 0.0);
            for (int64_t part = 0; part < count; ++part) {
                const T* own = parts.data() + size_t(part) * size + i * points.stride();
                for (int c = 0; c <= dim; ++c) sum[size_t(c)] += double(own[c]);
            }
            const T* own = points.row(i);
            for (int c = 0; c < dim; ++c)
                gradient[i * dim + c] = 2 * (sum[size_t(c)] - sum[size_t(dim)] * double(own[c]));
        }
    });
    double total = 0;
    for (double e : errors) total += e;
    return total;
}

// sum_i 1 - p_i, where p_i is the sum of p_ij over the j of the class of i and p_ij the softmax of
// -|z_i - z_j|^2 over all j other than i, and its gradient by z. Points are stored point by point,
// in ascending order of `classes`. If single precision gives squared distances with errors of about
// `accuracy` or less, it is used. Probabilities that are much smaller than this are left out.
inline double stochastic_neighbor_errors(const double* z, const int32_t* classes, int64_t n,
                                         int dim, double accuracy, int n_threads,
                                         double* gradient) {
    const double negligible = std::clamp(1e-6 * accuracy, 1e-13, 1e-9);
    std::vector<double> centre(size_t(dim), 0.0);
    for (int64_t i = 0; i < n; ++i)
        for (int c = 0; c < dim; ++c) centre[size_t(c)] += z[i * dim + c] / double(n);
    double largest = 0;
    for (int64_t i = 0; i < n; ++i) {
        double square = 0;
        for (int c = 0; c < dim; ++c)
            square += (z[i * dim + c] - centre[size_t(c)]) * (z[i * dim + c] - centre[size_t(c)]);
        largest = std::max(largest, square);
    }
    if (largest * double(std::numeric_limits<float>::epsilon()) <= accuracy)
        return stochastic_neighbor_errors(LabelledPoints<float>(z, centre.data(), classes, n, dim),
                                          n, dim, negligible, n_threads, gradient);
    return stochastic_neighbor_errors(LabelledPoints<double>(z, centre.data(), classes, n, dim), n,
                                      dim, negligible, n_threads, gradient);
}

}  // namespace lowdim

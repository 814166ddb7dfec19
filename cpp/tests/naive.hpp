// Formulas that several tests compare with, written without regard to speed.
#pragma once
#include <cmath>
#include <vector>

#include "lowdim/kernels.hpp"
#include "testing.hpp"

namespace testing {

// The stress of one pair; adds its gradients w (1 - target / d) (x_i - x_j) to `sums`, in double
// precision; x and sums are stored point by point.
template <class T>
double naive_stress(const std::vector<T>& x, int dim, int i, int j, double target, double weight,
                    std::vector<double>& sums) {
    double squares = 0;
    for (int c = 0; c < dim; ++c)
        squares += std::pow(double(x[size_t(i * dim + c)]) - double(x[size_t(j * dim + c)]), 2);
    const double d = std::sqrt(squares);
    for (int c = 0; c < dim && d > 0; ++c) {
        const double gap = double(x[size_t(i * dim + c)]) - double(x[size_t(j * dim + c)]);
        sums[size_t(i * dim + c)] += weight * (1 - target / d) * gap;
        sums[size_t(j * dim + c)] -= weight * (1 - target / d) * gap;
    }
    return weight * (target - d) * (target - d);
}

// Points of a map with masses and a weighted graph, and all forces between them.
template <class T>
struct NaiveForces {
    std::vector<T> y, transposed, mass, p;
    std::vector<int64_t> indptr{0};
    std::vector<int32_t> indices;
    std::vector<double> repulsion, z, attraction;  // z without the point itself
    double log_sum = 0;

    NaiveForces(int n, int dim, const lowdim::Similarity& kernel, bool weighted) {
        Random random(uint32_t(7 * n + dim));
        y = random.reals<T>(n * dim);
        mass = random.reals<T>(n);
        for (T& v : y) v *= 3;
        for (T& m : mass) m = weighted ? m * m + T(0.1) : T(1);
        transposed.resize(y.size());
        repulsion.assign(y.size(), 0.0);
        attraction.assign(y.size(), 0.0);
        z.assign(size_t(n), 0.0);
        for (int i = 0; i < n; ++i) {
            for (int c = 0; c < dim; ++c) transposed[size_t(c * n + i)] = y[size_t(i * dim + c)];
            for (int j = 0; j < n; ++j) {
                const auto gap = [&](int c) {
                    return double(y[size_t(i * dim + c)]) - double(y[size_t(j * dim + c)]);
                };
                double s = 0;
                for (int c = 0; c < dim; ++c) s += gap(c) * gap(c);
                const bool gaussian = kernel.kind == lowdim::SimilarityKind::kGaussian;
                const double u = gaussian ? 1 : 1 / (1 + s / kernel.dof);
                const double w = gaussian ? std::exp(-s) : std::pow(u, (kernel.dof + 1) / 2);
                const double m = double(mass[size_t(j)]);
                const T weight = (i + 2 * j) % 3 == 0 && i != j ? T(0.5 + double(j) / n) : T(0);
                if (weight > 0) {
                    indices.push_back(j);
                    p.push_back(weight);
                    log_sum += double(weight) * std::log(w);
                }
                if (i != j) z[size_t(i)] += m * w;
                for (int c = 0; c < dim; ++c) {
                    repulsion[size_t(i * dim + c)] += m * w * u * gap(c);
                    attraction[size_t(i * dim + c)] += double(weight) * u * gap(c);
                }
            }
            indptr.push_back(int64_t(indices.size()));
        }
    }
};

// The greatest error of the entries, over the greatest entry (0.1 at least: a force that is less
// than a point's effect on itself is lost in rounding).
template <class T>
double relative_error(const std::vector<T>& found, const std::vector<double>& wanted) {
    double error = found.size() == wanted.size() ? 0 : kInf<double>, size = 0.1;
    for (size_t k = 0; k < wanted.size() && error < kInf<double>; ++k) {
        error = std::max(error, std::abs(double(found[k]) - wanted[k]));
        size = std::max(size, std::abs(wanted[k]));
    }
    return error / size;
}

inline const std::vector<lowdim::Similarity> kSimilarities = {
    {lowdim::SimilarityKind::kGaussian, 1},
    {lowdim::SimilarityKind::kCauchy, 1},
    {lowdim::SimilarityKind::kStudent, 2.5}};

}  // namespace testing

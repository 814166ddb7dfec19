#include "lowdim/divergence.hpp"

#include <cmath>
#include <vector>

#include "testing.hpp"

using namespace lowdim;
using namespace testing;

namespace {

// The divergences of row i, and the slopes by all squared distances, by their definitions.
struct NaiveRow {
    double forward = 0, reverse = 0;
    std::vector<double> slope;
};

template <class T>
NaiveRow naive_divergence(const T* cost, const std::vector<double>& square, const double* precision,
                          int n_scales, double trade_off) {
    const size_t n = square.size();
    std::vector<std::vector<double>> q(static_cast<size_t>(n_scales), std::vector<double>(n));
    std::vector<double> mean(n, 0.0), log_ratio(n), by_q(n);
    for (size_t h = 0; h < q.size(); ++h) {
        double z = 0;
        for (size_t j = 0; j < n; ++j) z += q[h][j] = std::exp(-precision[h] * square[j]);
        for (size_t j = 0; j < n; ++j) mean[j] += (q[h][j] /= z) / n_scales;
    }
    NaiveRow out;
    out.slope.assign(n, 0.0);
    for (size_t j = 0; j < n; ++j) {
        const double p = std::exp(-double(cost[j]));
        log_ratio[j] = std::log(mean[j]) + double(cost[j]);
        out.forward -= p * log_ratio[j];
        out.reverse += mean[j] * log_ratio[j];
        by_q[j] = -trade_off * p / mean[j] + (1 - trade_off) * (log_ratio[j] + 1);
    }
    for (size_t h = 0; h < q.size(); ++h) {
        double sum = 0;
        for (size_t j = 0; j < n; ++j) sum += by_q[j] * q[h][j];
        for (size_t j = 0; j < n; ++j)
            out.slope[j] -= precision[h] * q[h][j] * (by_q[j] - sum) / n_scales;
    }
    return out;
}

template <class T>
void check_divergence(int n, int dim, int n_scales, double trade_off) {
    const Case here("n", n, "dim", dim, "n_scales", n_scales, "trade_off", trade_off);
    Random random(uint32_t(n * 100 + dim * 10 + n_scales));
    const std::vector<double> y = random.reals<double>(int64_t(n) * dim);
    std::vector<T> costs = random.reals<T>(int64_t(n) * (n - 1));
    std::vector<double> precisions(static_cast<size_t>(n * n_scales)), naive(y.size(), 0.0);
    std::vector<double> transposed(y.size()), square(static_cast<size_t>(n - 1));
    for (T& cost : costs) cost = std::abs(cost) + T(1);
    for (int i = 0; i < n; ++i)
        for (int h = 0; h < n_scales; ++h)
            precisions[size_t(i * n_scales + h)] = 0.2 + h + std::abs(random.real()) / 2;
    for (int i = 0; i < n; ++i)
        for (int c = 0; c < dim; ++c) transposed[size_t(c * n + i)] = y[size_t(i * dim + c)];
    double forward = 0, reverse = 0;
    for (int i = 0; i < n; ++i) {
        for (int j = 0; j < n - 1; ++j) {
            const int k = j < i ? j : j + 1;
            square[size_t(j)] = 0;
            for (int c = 0; c < dim; ++c)
                square[size_t(j)] += std::pow(y[size_t(i * dim + c)] - y[size_t(k * dim + c)], 2);
        }
        const NaiveRow row =
            naive_divergence(costs.data() + i * (n - 1), square, precisions.data() + i * n_scales,
                             n_scales, trade_off);
        forward += row.forward;
        reverse += row.reverse;
        for (int j = 0; j < n - 1; ++j)
            for (int c = 0; c < dim; ++c) {
                const int k = j < i ? j : j + 1;
                const double gap = y[size_t(i * dim + c)] - y[size_t(k * dim + c)];
                naive[size_t(i * dim + c)] += 2 * row.slope[size_t(j)] * gap;
                naive[size_t(k * dim + c)] -= 2 * row.slope[size_t(j)] * gap;
            }
    }
    const Mixture mixture{n_scales, trade_off};
    std::vector<double> one(y.size()), three(y.size());
    double found[2], again[2];
    divergence_gradient<T>(costs.data(), precisions.data(), transposed.data(), n, dim, mixture, 1,
                           one.data(), found);
    divergence_gradient<T>(costs.data(), precisions.data(), transposed.data(), n, dim, mixture, 3,
                           three.data(), again);
    CHECK_CLOSE(found[0], forward, 1e-10 * (1 + std::abs(forward)));
    CHECK_CLOSE(found[1], reverse, 1e-10 * (1 + std::abs(reverse)));
    for (size_t k = 0; k < one.size(); ++k) CHECK_CLOSE(one[k], naive[k], 1e-10 * n);
    CHECK_SAME_BITS(one, three);
    CHECK_EQUAL(found[0], again[0]);
    CHECK_EQUAL(found[1], again[1]);
}

// A new point ends where its gradient vanishes, whatever the number of threads.
TEST_FLOATS(new_points_stop_where_the_gradient_vanishes) {
    const int n = 50, n_new = 9, dim = 2;
    Random random(11);
    const std::vector<double> x = random.reals<double>(n * dim);
    const std::vector<double> starts = random.reals<double>(n_new * 2 * dim);
    std::vector<T> costs(static_cast<size_t>(n_new * n));
    const std::vector<double> precisions(static_cast<size_t>(n_new), 1.5);
    for (int r = 0; r < n_new; ++r) {
        const double a = random.real() / 2, b = random.real() / 2;
        double sum = 0;
        for (int j = 0; j < n; ++j)
            sum += std::exp(-std::pow(a - x[size_t(j)], 2) - std::pow(b - x[size_t(n + j)], 2));
        for (int j = 0; j < n; ++j)
            costs[size_t(r * n + j)] = T(std::pow(a - x[size_t(j)], 2) +
                                         std::pow(b - x[size_t(n + j)], 2) + std::log(sum));
    }
    const Mixture mixture{1, 0.6};
    std::vector<double> one(static_cast<size_t>(n_new * dim)), three(one.size());
    place_by_divergence<T>(costs.data(), nullptr, nullptr, n, precisions.data(), n_new, x.data(), n,
                           dim, mixture, starts.data(), 2, 300, 1e-9, 1, one.data());
    place_by_divergence<T>(costs.data(), nullptr, nullptr, n, precisions.data(), n_new, x.data(), n,
                           dim, mixture, starts.data(), 2, 300, 1e-9, 3, three.data());
    CHECK_SAME_BITS(one, three);
    for (int r = 0; r < n_new; ++r) {
        std::vector<double> square(static_cast<size_t>(n));
        for (int j = 0; j < n; ++j)
            square[size_t(j)] = std::pow(one[size_t(2 * r)] - x[size_t(j)], 2) +
                                std::pow(one[size_t(2 * r + 1)] - x[size_t(n + j)], 2);
        const NaiveRow row = naive_divergence(costs.data() + r * n, square, precisions.data() + r,
                                              1, mixture.trade_off);
        for (int c = 0; c < dim; ++c) {
            double sum = 0;
            for (int j = 0; j < n; ++j)
                sum += 2 * row.slope[size_t(j)] * (one[size_t(2 * r + c)] - x[size_t(c * n + j)]);
            CHECK_CLOSE(sum, 0, 1e-5);
        }
    }
}

TEST_FLOATS(divergences_and_their_gradient) {
    for (int n : {2, 3, 40, 270})
        for (int n_scales : {1, 2, 5})
            for (double trade_off : {0.0, 0.4, 1.0})
                check_divergence<T>(n, n % 3 + 1, n_scales, trade_off);
}

}  // namespace

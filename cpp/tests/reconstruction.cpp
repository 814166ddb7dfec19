#include "lowdim/reconstruction.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "testing.hpp"

using namespace lowdim;
using namespace testing;

namespace {

// Gaussian elimination with pivoting on (G + shift I) w = 1, w then scaled to sum to one.
std::vector<double> naive_weights(std::vector<double> a, int k, double shift) {
    std::vector<double> w(size_t(k), 1.0);
    auto at = [&](int i, int j) -> double& { return a[size_t(i * k + j)]; };
    for (int i = 0; i < k; ++i) at(i, i) += shift;
    for (int c = 0; c < k; ++c) {
        int pivot = c;
        for (int i = c; i < k; ++i)
            if (std::abs(at(i, c)) > std::abs(at(pivot, c))) pivot = i;
        for (int j = 0; j < k; ++j) std::swap(at(c, j), at(pivot, j));
        std::swap(w[size_t(c)], w[size_t(pivot)]);
        for (int i = c + 1; i < k; ++i) {
            const double factor = at(i, c) / at(c, c);
            for (int j = c; j < k; ++j) at(i, j) -= factor * at(c, j);
            w[size_t(i)] -= factor * w[size_t(c)];
        }
    }
    double sum = 0;
    for (int i = k - 1; i >= 0; --i) {
        for (int j = i + 1; j < k; ++j) w[size_t(i)] -= at(i, j) * w[size_t(j)];
        w[size_t(i)] /= at(i, i);
        sum += w[size_t(i)];
    }
    for (double& v : w) v /= sum;
    return w;
}

// The Gram matrix of the chosen points of y about one point x.
template <class T>
std::vector<T> gram_about(const T* x, const std::vector<T>& y, const std::vector<int32_t>& chosen,
                          int dim) {
    std::vector<T> gram;
    for (int32_t a : chosen)
        for (int32_t b : chosen) {
            T sum = 0;
            for (int c = 0; c < dim; ++c)
                sum += (x[c] - y[size_t(a * dim + c)]) * (x[c] - y[size_t(b * dim + c)]);
            gram.push_back(sum);
        }
    return gram;
}

template <class T>
void check_barycentric_random(int k, int dim) {
    const Case here("k", k, "dim", dim);
    Random random(uint32_t(100 * k + dim));
    const int n = 600, n_points = 50;
    const double reg = 1e-2;
    const std::vector<T> x = random.wholes<T>(n * dim, -9, 9);
    const std::vector<T> y = random.wholes<T>(n_points * dim, -9, 9);
    std::vector<T> grams;
    for (int i = 0; i < n; ++i) {
        std::vector<int32_t> chosen(static_cast<size_t>(k));
        for (int32_t& j : chosen) j = random.whole(0, n_points - 1);  // the same one twice, too
        const std::vector<T> gram = gram_about(x.data() + i * dim, y, chosen, dim);
        grams.insert(grams.end(), gram.begin(), gram.end());
    }
    std::vector<T> one(size_t(n) * size_t(k)), three(one.size());
    barycentric_weights<T>(grams.data(), n, k, reg, 1, one.data());
    barycentric_weights<T>(grams.data(), n, k, reg, 3, three.data());
    CHECK_SAME_BITS(one, three);
    for (int i = 0; i < n; ++i) {
        const auto first = grams.begin() + i * k * k;
        const std::vector<double> gram(first, first + k * k);
        double trace = 0;
        for (int a = 0; a < k; ++a) trace += gram[size_t(a * k + a)];
        const std::vector<double> naive = naive_weights(gram, k, trace > 0 ? reg * trace : reg);
        for (int a = 0; a < k; ++a) CHECK_ROUNDED(one[size_t(i * k + a)], naive[size_t(a)], 1);
    }
}

TEST_FLOATS(singular_neighbourhoods) {
    const std::vector<T> y = {0, 0, 2, 2, 4, 4, 6, 6, 1, 1};  // points on a line
    const std::vector<T> x = {1, 1};                          // equal to the last of them
    auto weights = [&](const std::vector<int32_t>& chosen, double reg) {
        std::vector<T> w(chosen.size());
        const std::vector<T> gram = gram_about(x.data(), y, chosen, 2);
        barycentric_weights<T>(gram.data(), 1, int(w.size()), reg, 1, w.data());
        return w;
    };
    for (double reg : {0.0, 1e-14, 1e-3}) {
        CHECK_EQUAL(weights({4, 4, 4, 4}, reg), std::vector<T>(4, T(0.25)));
        for (const std::vector<int32_t>& chosen :
             {std::vector<int32_t>{0, 1, 2, 3}, std::vector<int32_t>{0, 0, 1, 1}}) {
            const std::vector<T> w = weights(chosen, reg);
            double sum = 0, place = 0;
            for (size_t a = 0; a < w.size(); ++a) {
                sum += double(w[a]);
                place += double(w[a]) * double(y[size_t(2 * chosen[a])]);
            }
            CHECK_CLOSE(sum, 1, 1e-5);
            CHECK_CLOSE(place, 1, 0.05);
        }
    }
    CHECK_EQUAL(weights({3}, 1e-3), std::vector<T>{1});
    std::vector<double> indefinite = {1, 2, 2, 1};
    double w[2];
    CHECK(!solve_ones(indefinite, 2, w));
}

TEST_FLOATS(barycentric_weights_solve_the_system) {
    for (int k : {1, 2, 5, 12})
        for (int dim : {1, 3, 20}) check_barycentric_random<T>(k, dim);
}

}  // namespace

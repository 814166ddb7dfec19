#include "lowdim/stochastic.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "testing.hpp"

using namespace lowdim;
using namespace testing;

namespace {

// By their definition, with all pairs.
double naive_errors(const std::vector<double>& z, const std::vector<int32_t>& classes, int dim,
                    std::vector<double>& gradient) {
    const size_t n = classes.size(), width = size_t(dim);
    double total = 0;
    gradient.assign(z.size(), 0.0);
    for (size_t i = 0; i < n; ++i) {
        std::vector<double> p(n, 0.0);
        double least = INFINITY, sum = 0, right = 0;
        for (size_t j = 0; j < n; ++j) {
            for (size_t c = 0; c < width; ++c)
                p[j] += std::pow(z[i * width + c] - z[j * width + c], 2);
            if (j != i) least = std::min(least, p[j]);
        }
        for (size_t j = 0; j < n; ++j) sum += p[j] = j == i ? 0 : std::exp(least - p[j]);
        for (size_t j = 0; j < n; ++j) {
            p[j] /= sum;
            if (classes[j] == classes[i]) right += p[j];
        }
        total += 1 - right;
        for (size_t j = 0; j < n; ++j)
            for (size_t c = 0; c < width; ++c) {
                const double weight = p[j] * (right - (classes[j] == classes[i] ? 1 : 0));
                const double step = -2 * weight * (z[i * width + c] - z[j * width + c]);
                gradient[i * width + c] += step;
                gradient[j * width + c] -= step;
            }
    }
    return total;
}

void check_errors(int n, int dim, double scale, double accuracy) {
    const Case here("n", n, "dim", dim, "scale", scale, "accuracy", accuracy);
    Random random(uint32_t(n * 10 + dim));
    std::vector<double> z = random.reals<double>(int64_t(n) * dim);
    for (double& value : z) value *= scale;
    std::vector<int32_t> classes(static_cast<size_t>(n));
    for (int i = 0; i < n; ++i) classes[size_t(i)] = i * 3 / n;
    std::vector<double> naive, one(z.size()), three(z.size());
    const double expected = naive_errors(z, classes, dim, naive);
    const double found =
        stochastic_neighbor_errors(z.data(), classes.data(), n, dim, accuracy, 1, one.data());
    const double again =
        stochastic_neighbor_errors(z.data(), classes.data(), n, dim, accuracy, 3, three.data());
    const double tolerance = accuracy > 0 ? 1e-4 : 1e-9;
    CHECK(std::abs(found - expected) <= tolerance * n);
    CHECK(found == again && one == three);
    for (size_t k = 0; k < naive.size(); ++k)
        CHECK(std::abs(one[k] - naive[k]) <= tolerance * scale);
}

}  // namespace

TEST(stochastic_neighbor_errors_and_their_gradient) {
    for (int n : {2, 5, 40, 300, 600})
        for (int dim : {1, 2, 8, 19, 40}) {
            check_errors(n, dim, 1, 0.0);   // double precision
            check_errors(n, dim, 1, 1e-3);  // single precision
            check_errors(n, dim, 9, 1e-5);  // squared distances alone in double precision
        }
}

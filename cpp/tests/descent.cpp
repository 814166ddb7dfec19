#include "lowdim/descent.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "testing.hpp"

using namespace lowdim;
using namespace testing;

namespace {

// One step of every coordinate by the formulas, in double precision.
TEST_FLOATS(a_momentum_step_follows_the_formulas) {
    for (int64_t n : {1, 7, 40000})
        for (int dim : {1, 2, 5}) {
            const Case here("n", n, "dim", dim);
            Random random(uint32_t(n + dim));
            const Step step{0.3, 0.8, 0.01, 0.5};
            const std::vector<T> gradient = random.reals<T>(n * dim),
                                 start = random.reals<T>(n * dim), speed = random.reals<T>(n * dim);
            std::vector<T> gains = random.reals<T>(n * dim);
            for (T& g : gains) g = std::abs(g) + T(0.005);
            std::vector<double> y(start.begin(), start.end()), v(speed.begin(), speed.end()),
                g(gains.begin(), gains.end());
            double square = 0;
            for (int64_t i = 0; i < n; ++i) {
                double length = 0;
                for (size_t k = size_t(i * dim); k < size_t((i + 1) * dim); ++k) {
                    const auto slope = double(gradient[k]);
                    square += slope * slope;
                    g[k] = std::max(step.min_gain, v[k] * slope < 0 ? g[k] + 0.2 : g[k] * 0.8);
                    v[k] = step.momentum * v[k] - step.rate * g[k] * slope;
                    length += v[k] * v[k];
                }
                const double scale = std::min(1.0, step.max_step / std::sqrt(length));
                for (size_t k = size_t(i * dim); k < size_t((i + 1) * dim); ++k)
                    y[k] += v[k] *= scale;
            }
            std::vector<T> y1 = start, v1 = speed, g1 = gains, y3 = start, v3 = speed, g3 = gains;
            const double one =
                momentum_step<T>(gradient.data(), n, dim, step, 1, y1.data(), v1.data(), g1.data());
            const double three =
                momentum_step<T>(gradient.data(), n, dim, step, 3, y3.data(), v3.data(), g3.data());
            CHECK_CLOSE(one, square, 1e-12 * double(n * dim));
            CHECK_ROUNDED(y1, y, 1);
            CHECK_ROUNDED(v1, v, 1);
            CHECK_ROUNDED(g1, g, 1);
            CHECK_EQUAL(one, three);
            CHECK_SAME_BITS(y1, y3);
            CHECK_SAME_BITS(v1, v3);
            CHECK_SAME_BITS(g1, g3);
        }
}

TEST_FLOATS(sums_and_differences) {
    for (int64_t n : {0, 1, 9, 5000, 20000}) {
        const Case here("n", n);
        Random random(uint32_t(n) + 3);
        const std::vector<T> first = random.wholes<T>(n, -50, 50),
                             second = random.wholes<T>(n, -50, 50);
        double expected = 0;
        for (T v : first) expected += double(v);
        for (int threads : {1, 3}) {
            CHECK_EQUAL(sum_of<T>(first.data(), n, threads), expected);
            std::vector<T> found = first;
            subtract_scaled<T>(found.data(), 2, second.data(), 3, n, threads);
            for (size_t k = 0; k < found.size(); ++k)
                CHECK_EQUAL(found[k], 2 * first[k] - 3 * second[k]);
        }
    }
}

}  // namespace

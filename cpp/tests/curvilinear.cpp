#include "lowdim/curvilinear.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "testing.hpp"

using namespace lowdim;
using namespace testing;

namespace {

// Each pin in turn, each other point in turn.
template <class T>
double naive_sweep(const Pins<T>& pins, const PinForce& force, std::vector<double>& y, int n,
                   int dim) {
    double error = 0;
    for (int64_t p = 0; p < pins.count; ++p) {
        const int i = pins.points[p];
        for (int j = 0; j < n; ++j) {
            if (j == i) continue;
            double square = 0;
            for (int c = 0; c < dim; ++c)
                square += std::pow(y[size_t(c * n + j)] - y[size_t(c * n + i)], 2);
            const double d = std::sqrt(square);
            const double gap = double(pins.distances[pins.rows[p] * n + j]) * force.unit - d;
            const double weight =
                force.step ? double(d <= force.reach) : std::exp(-d / force.reach);
            error += weight * gap * gap;
            if (d == 0) continue;
            for (int c = 0; c < dim; ++c)
                y[size_t(c * n + j)] +=
                    force.alpha * weight * gap / d * (y[size_t(c * n + j)] - y[size_t(c * n + i)]);
        }
    }
    return error;
}

template <class T>
void check_curvilinear(int n, int dim, bool step) {
    const Case here("n", n, "dim", dim, "step", step);
    Random random{uint32_t(1000 * n + 10 * dim + step)};
    const int count = std::min(n, 70);
    std::vector<T> distances = random.reals<T>(int64_t(count) * n);
    for (T& d : distances) d = std::abs(d);
    std::vector<double> start = random.reals<double>(int64_t(n) * dim);
    if (n > 2)  // two points in one place
        for (int c = 0; c < dim; ++c) start[size_t(c * n + 1)] = start[size_t(c * n)];
    std::vector<int32_t> points(static_cast<size_t>(n)), rows(static_cast<size_t>(count));
    for (int i = 0; i < n; ++i) points[size_t(i)] = i;
    for (int i = n - 1; i > 0; --i)
        std::swap(points[size_t(i)], points[size_t(random.whole(0, i))]);
    for (int i = 0; i < count; ++i) {
        rows[size_t(i)] = count - 1 - i;
        distances[size_t(rows[size_t(i)]) * size_t(n) + size_t(points[size_t(i)])] = 0;
    }
    const Pins<T> pins{count, points.data(), rows.data(), distances.data()};
    const PinForce force{2.0, 0.4, 0.7, step};
    std::vector<double> naive = start;
    const double error = naive_sweep(pins, force, naive, n, dim);
    std::vector<double> one = start, three = start;
    const double met = curvilinear_sweep(pins, force, one.data(), n, dim, 1);
    CHECK_ROUNDED(met, error, double(n));
    for (size_t k = 0; k < one.size(); ++k) CHECK_CLOSE(one[k], naive[k], 1e-10);
    CHECK_EQUAL(curvilinear_sweep(pins, force, three.data(), n, dim, 3), met);
    CHECK_SAME_BITS(one, three);
}

TEST_FLOATS(a_sweep_moves_points_one_pin_at_a_time) {
    for (int n : {1, 2, 33, 300, 1030, 8200})
        for (int dim : {1, 2, 3, 5})
            for (bool step : {false, true}) check_curvilinear<T>(n, dim, step);
}

}  // namespace

#include "lowdim/quasi_newton.hpp"

#include <vector>

#include "testing.hpp"

using namespace lowdim;
using namespace testing;

TEST(a_quasi_newton_direction_meets_the_secant_equation) {
    for (int64_t n : {1, 7, 70})
        for (int64_t m : {0, 1, 4, 10}) {
            const Case here("n", n, "m", m);
            Random random(uint32_t(10 * n + m));
            const std::vector<double> steps = random.reals<double>(m * n);
            std::vector<double> changes = steps, gradient = random.reals<double>(n);
            for (size_t k = 0; k < changes.size(); ++k) changes[k] *= 1 + double(k % size_t(n));
            if (m > 0) gradient.assign(changes.end() - n, changes.end());
            std::vector<double> direction(gradient.size());
            quasi_newton_direction(gradient.data(), steps.data(), changes.data(), m, n,
                                   direction.data());
            for (int64_t k = 0; k < n; ++k)  // the last step, or that of steepest descent
                CHECK_CLOSE(direction[size_t(k)],
                            m > 0 ? -steps[size_t((m - 1) * n + k)] : -gradient[size_t(k)], 1e-9);
        }
}

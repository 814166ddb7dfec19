#include "lowdim/sammon.hpp"

#include <algorithm>
#include <vector>

#include "naive.hpp"
#include "testing.hpp"

using namespace lowdim;
using namespace testing;

namespace {

// Sammon's stress by its definition; floats too are summed in double.
template <class T>
void check_sammon(int n, int dim, double epsilon) {
    const Case here("n", n, "dim", dim, "epsilon", epsilon);
    Random random(uint32_t(n * 10 + dim));
    const std::vector<double> x = random.reals<double>(int64_t(n) * dim);
    std::vector<double> mass(static_cast<size_t>(n)), naive(x.size(), 0.0), transposed(x.size());
    std::vector<T> delta(size_t(n) * size_t(n), T(0));
    for (double& m : mass) m = random.whole(1, 3);
    for (int i = 0; i < n; ++i)
        for (int c = 0; c < dim; ++c) transposed[size_t(c * n + i)] = x[size_t(i * dim + c)];
    double total = 0;
    for (int i = 0; i < n; ++i)
        for (int j = i + 1; j < n; ++j) {
            const T target = random.whole(0, 5) == 0 ? T(0) : T(random.real() + 0.1);
            delta[size_t(i * n + j)] = delta[size_t(j * n + i)] = target;
            if (target == T(0) && epsilon == 0) continue;
            const double weight =
                mass[size_t(i)] * mass[size_t(j)] / std::max(double(target), epsilon);
            total += naive_stress(x, dim, i, j, double(target), weight, naive);
        }
    std::vector<double> one(x.size()), three(x.size());
    const double stress = sammon_gradient<T>(delta.data(), transposed.data(), mass.data(), n, dim,
                                             1e-12, epsilon, 1, one.data());
    const double again = sammon_gradient<T>(delta.data(), transposed.data(), mass.data(), n, dim,
                                            1e-12, epsilon, 3, three.data());
    CHECK_CLOSE(stress, 2 * total, 1e-10 * (1 + total));
    for (size_t k = 0; k < one.size(); ++k) CHECK_CLOSE(one[k], naive[k], 1e-10 * (1 + total));
    CHECK_EQUAL(stress, again);
    CHECK_SAME_BITS(one, three);
}

TEST_FLOATS(sammon_stress_and_its_gradient) {
    for (int n : {1, 2, 40, 300})
        for (double epsilon : {0.0, 0.3}) check_sammon<T>(n, n % 3 + 1, epsilon);
}

}  // namespace

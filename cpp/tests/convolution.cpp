#include "lowdim/convolution.hpp"

#include <cmath>
#include <vector>

#include "testing.hpp"

using namespace lowdim;
using namespace testing;

namespace {

template <class T>
void check_convolution(int64_t rows, int64_t columns) {
    const Case here("rows", rows, "columns", columns);
    Random random(uint32_t(rows * 100 + columns));
    // A kernel of three by three around the origin has this transform.
    const int64_t kept = columns / 2 + 1, half = rows / 2 + 1;
    std::vector<T> transform(static_cast<size_t>(half * kept));
    const double pi = 3.14159265358979323846;
    for (int64_t i = 0; i < half; ++i)
        for (int64_t k = 0; k < kept; ++k)
            transform[size_t(i * kept + k)] =
                T((2 + std::cos(2 * pi * double(i) / double(rows))) *
                  (3 + std::cos(2 * pi * double(k) / double(columns))));
    const int64_t n = rows / 2, m = columns / 2;
    const std::vector<T> start = random.reals<T>(n * m);
    std::vector<T> one = start, three = start;
    Convolution<T> alone(rows, columns, transform.data(), 1);
    Convolution<T> together(rows, columns, transform.data(), 3);
    alone.apply(one.data(), n, m, 1);
    together.apply(three.data(), n, m, 3);
    CHECK_SAME_BITS(one, three);
    auto at = [&](int64_t i, int64_t k) {
        return i < 0 || k < 0 || i >= n || k >= m ? 0.0 : double(start[size_t(i * m + k)]);
    };
    const double side[3] = {0.5, 2, 0.5}, across[3] = {0.5, 3, 0.5};
    for (int64_t i = 0; i < n; ++i)
        for (int64_t k = 0; k < m; ++k) {
            double sum = 0;
            for (int a = -1; a <= 1; ++a)
                for (int b = -1; b <= 1; ++b) sum += side[a + 1] * across[b + 1] * at(i + a, k + b);
            CHECK_CLOSE(double(one[size_t(i * m + k)]), sum, 1e-4);
        }
}

TEST_FLOATS(convolution_with_a_small_kernel) {
    check_convolution<T>(40, 36);
    check_convolution<T>(50, 60);
    check_convolution<T>(2, 64);
}

}  // namespace

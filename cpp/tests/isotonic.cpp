#include "lowdim/isotonic.hpp"

#include <algorithm>
#include <vector>

#include "testing.hpp"

using namespace lowdim;
using namespace testing;

namespace {

// max over j <= k of min over l >= k of the weighted mean of [j, l], by its definition.
template <class T>
std::vector<double> naive_isotonic(const std::vector<T>& y, const std::vector<T>& w) {
    const size_t n = y.size();
    std::vector<double> out(n, -kInf<double>);
    for (size_t j = 0; j < n; ++j) {
        std::vector<double> least(n, kInf<double>);
        double sum = 0, mass = 0;
        for (size_t l = j; l < n; ++l) {
            sum += double(w[l]) * double(y[l]);
            mass += double(w[l]);
            least[l] = sum / mass;
        }
        for (size_t l = n; l-- > j;) {
            if (l + 1 < n) least[l] = std::min(least[l], least[l + 1]);
            out[l] = std::max(out[l], least[l]);
        }
    }
    return out;
}

TEST_FLOATS(isotonic_regression) {
    Random random(9);
    for (int n : {0, 1, 2, 50, 300}) {
        std::vector<T> y = random.reals<T>(n), w = random.wholes<T>(n, 1, 4), out(y.size());
        for (int k = 0; k < n; ++k) y[size_t(k)] += T(k) / T(100);
        isotonic<T>(y.data(), w.data(), n, 1, out.data());
        CHECK_ROUNDED(out, naive_isotonic(y, w), 1);
        isotonic<T>(y.data(), nullptr, n, 1, out.data());
        CHECK_ROUNDED(out, naive_isotonic(y, std::vector<T>(y.size(), T(1))), 1);
    }
    const int64_t n = 100000;  // several stretches
    std::vector<T> y = random.reals<T>(n), one(y.size()), three(y.size());
    for (int64_t k = 0; k < n; ++k) y[size_t(k)] += T(k) / T(n);
    isotonic<T>(y.data(), nullptr, n, 1, one.data());
    isotonic<T>(y.data(), nullptr, n, 3, three.data());
    CHECK(std::is_sorted(one.begin(), one.end()));
    CHECK_SAME_BITS(one, three);

    const std::vector<T> tied = {3, 1, 2, 5, 4}, mass = {1, 1, 2, 1, 1};
    const std::vector<int64_t> starts = {0, 2, 5};
    std::vector<T> out(5);
    isotonic_with_ties<T>(tied.data(), nullptr, 5, starts.data(), 2, true, 1, out.data());
    CHECK_ROUNDED(out, (std::vector<double>{2.5, 1, 2.5, 5, 4}), 1);
    isotonic_with_ties<T>(tied.data(), mass.data(), 5, starts.data(), 2, false, 1, out.data());
    CHECK_ROUNDED(out, (std::vector<double>{2, 2, 3.25, 3.25, 3.25}), 1);
}

}  // namespace

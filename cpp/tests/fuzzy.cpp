#include "lowdim/fuzzy.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "testing.hpp"

using namespace lowdim;
using namespace testing;

namespace {

TEST_FLOATS(memberships_sum_to_the_target) {
    Random random(21);
    const int n = 2100, k = 9;
    std::vector<int64_t> indptr(1, 0);
    std::vector<T> distances;
    for (int i = 0; i < n; ++i) {
        const int count = i % 50 == 0 ? 0 : random.whole(1, k);
        std::vector<T> row;
        for (int j = 0; j < count; ++j) row.push_back(T(random.whole(0, 12)) / 4);
        std::sort(row.begin(), row.end());
        if (i % 70 == 1) row.back() = kInf<T>;
        distances.insert(distances.end(), row.begin(), row.end());
        indptr.push_back(int64_t(distances.size()));
    }
    const double target = std::log2(6.0);
    std::vector<T> rho(n), sigma(n), one(distances.size()), three(distances.size());
    memberships(n, indptr.data(), distances.data(), target, 1.0, 1, rho.data(), sigma.data(),
                one.data());
    for (int i = 0; i < n; ++i) {
        double sum = 0, least = 1, most = 0;
        for (int64_t e = indptr[size_t(i)]; e < indptr[size_t(i) + 1]; ++e) {
            const auto m = double(one[size_t(e)]);
            const bool finite = std::isfinite(distances[size_t(e)]);
            CHECK(m >= 0);
            CHECK(m <= 1);
            if (!finite) CHECK_EQUAL(m, 0.0);
            if (!(distances[size_t(e)] > rho[size_t(i)])) CHECK_EQUAL(m, 1.0);
            if (!finite) continue;
            sum += m;
            least = std::min(least, m);
            most = std::max(most, m);
        }
        // The sum is right, or all belong fully, or as few as possible do.
        const bool floor = double(sigma[size_t(i)]) < 0.02;
        if (least < 1 && most > 0 && !floor) CHECK_CLOSE(sum, target, 1e-4);
    }
    std::vector<T> rho3(n), sigma3(n);
    memberships(n, indptr.data(), distances.data(), target, 1.0, 3, rho3.data(), sigma3.data(),
                three.data());
    CHECK_SAME_BITS(one, three);
    CHECK_SAME_BITS(rho, rho3);
    CHECK_SAME_BITS(sigma, sigma3);
}

TEST_FLOATS(union_and_intersection_are_mixed) {
    Random random(22);
    const int n = 60;
    std::vector<int64_t> indptr(1, 0);
    std::vector<int32_t> indices;
    std::vector<T> data, dense(size_t(n * n), T(0));
    for (int i = 0; i < n; ++i) {
        for (int j = n - 1; j >= 0; --j)
            if (i != j && random.whole(0, 5) == 0) {
                indices.push_back(j);
                data.push_back(T(random.whole(0, 4)) / 4);
                dense[size_t(i * n + j)] = data.back();
            }
        indptr.push_back(int64_t(indices.size()));
    }
    for (double mix : {0.0, 0.5, 1.0}) {
        const Csr<T> out = fuzzy_union<T>(n, indptr.data(), indices.data(), data.data(), T(mix), 3);
        std::vector<T> found(size_t(n * n), T(0));
        for (int i = 0; i < n; ++i)
            for (int64_t e = out.indptr[size_t(i)]; e < out.indptr[size_t(i) + 1]; ++e)
                found[size_t(i * n + out.indices[size_t(e)])] = out.data[size_t(e)];
        CHECK(std::none_of(out.data.begin(), out.data.end(), [](T v) { return v == T(0); }));
        for (int i = 0; i < n; ++i)
            for (int j = 0; j < n; ++j) {
                const T a = dense[size_t(i * n + j)], b = dense[size_t(j * n + i)];
                CHECK_ROUNDED(found[size_t(i * n + j)],
                              mix * double(a + b - a * b) + (1 - mix) * double(a * b), 1);
            }
    }
}

}  // namespace

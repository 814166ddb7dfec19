#include "lowdim/columns.hpp"

#include <cstdint>
#include <vector>

#include "testing.hpp"

using namespace lowdim;
using namespace testing;

namespace {

TEST_FLOATS(products_of_tall_matrices) {
    for (int64_t n : {0, 1, 1024, 5000})
        for (int64_t p : {1, 3})
            for (int64_t q : {1, 8}) {
                const Case here("n", n, "p", p, "q", q);
                Random random(uint32_t(n + p + q));
                const std::vector<T> v = random.wholes<T>(n * p, -5, 5),
                                     w = random.wholes<T>(n * q, -5, 5),
                                     s = random.wholes<T>(p * q, -5, 5);
                std::vector<double> sums(size_t(p * q), 0.0), found(sums.size(), -1.0);
                std::vector<T> product(size_t(n * q), T(0));
                for (int64_t i = 0; i < n; ++i)
                    for (int64_t a = 0; a < p; ++a)
                        for (int64_t b = 0; b < q; ++b) {
                            const T left = v[size_t(i * p + a)];
                            sums[size_t(a * q + b)] += double(left) * double(w[size_t(i * q + b)]);
                            product[size_t(i * q + b)] += left * s[size_t(a * q + b)];
                        }
                for (int threads : {1, 3}) {
                    gram<T>(v.data(), p, w.data(), q, n, threads, found.data());
                    CHECK_EQUAL(found, sums);
                    std::vector<T> out(product.size(), T(-1));
                    times<T>(v.data(), n, p, s.data(), q, threads, out.data());
                    CHECK_EQUAL(out, product);
                }
            }
}

}  // namespace

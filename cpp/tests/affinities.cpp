#include "lowdim/affinities.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "testing.hpp"

using namespace lowdim;
using namespace testing;

namespace {

TEST_FLOATS(affinities_have_the_perplexity) {
    Random random(11);
    const std::vector<int64_t> indptr{0, 0, 1, 4, 40, 90};
    std::vector<T> squared = random.reals<T>(90), p(90), again(90);
    for (T& v : squared) v = v * v;
    std::vector<double> beta(5);
    perplexity_affinities<T>(indptr.data(), 5, squared.data(), nullptr, 6.0, 1, p.data(),
                             beta.data());
    perplexity_affinities<T>(indptr.data(), 5, squared.data(), nullptr, 6.0, 3, again.data(),
                             beta.data());
    CHECK_SAME_BITS(p, again);
    for (size_t i = 1; i < 5; ++i) {
        double sum = 0, entropy = 0;
        for (int64_t e = indptr[i]; e < indptr[i + 1]; ++e) {
            const double v = double(p[size_t(e)]);
            sum += v;
            if (v > 0) entropy -= v * std::log(v);
        }
        CHECK_CLOSE(sum, 1, 1e-5);
        const double wanted = std::log(std::min(6.0, double(indptr[i + 1] - indptr[i])));
        CHECK_CLOSE(entropy, wanted, 1e-4);
    }
}

}  // namespace

#include "lowdim/forces.hpp"

#include <cmath>
#include <vector>

#include "naive.hpp"
#include "testing.hpp"

using namespace lowdim;
using namespace testing;

namespace {

TEST_FLOATS(forces_agree_with_the_formulas) {
    for (const Similarity& kernel : kSimilarities)
        for (int n : {1, 2, 17, 300})
            for (int dim : {1, 2, 3, 4})
                for (bool weighted : {false, true}) {
                    const Case here("kind", int(kernel.kind), "n", n, "dim", dim, "weighted",
                                    weighted);
                    const NaiveForces<T> naive(n, dim, kernel, weighted);
                    const T* mass = weighted ? naive.mass.data() : nullptr;
                    std::vector<T> one(naive.y.size()), three(one), z(static_cast<size_t>(n)),
                        z3(z);
                    const auto repel = [&](int n_threads, std::vector<T>& force,
                                           std::vector<T>& sums) {
                        repulsion<T>(naive.y.data(), n, naive.transposed.data(), mass, n, dim,
                                     kernel, n_threads, force.data(), sums.data());
                    };
                    repel(1, one, z);
                    repel(3, three, z3);
                    CHECK_SAME_BITS(one, three);
                    CHECK_SAME_BITS(z, z3);
                    for (int i = 0; i < n; ++i) z[size_t(i)] -= naive.mass[size_t(i)];
                    CHECK_CLOSE(relative_error(one, naive.repulsion), 0, 1e-4);
                    CHECK_CLOSE(relative_error(z, naive.z), 0, 1e-4);
                    const auto attract = [&](bool loss, int n_threads, std::vector<T>& force) {
                        return attraction<T>(naive.indptr.data(), naive.indices.data(),
                                             naive.p.data(), naive.y.data(), n, dim, kernel, loss,
                                             n_threads, force.data());
                    };
                    CHECK_CLOSE(attract(true, 3, one), naive.log_sum,
                                1e-4 * (1 + std::abs(naive.log_sum)));
                    CHECK_EQUAL(attract(false, 1, three), 0.0);
                    CHECK_CLOSE(relative_error(one, naive.attraction), 0, 1e-4);
                    CHECK_CLOSE(relative_error(three, naive.attraction), 0, 1e-4);
                    attract(false, 3, one);
                    CHECK_SAME_BITS(one, three);
                }
}

}  // namespace

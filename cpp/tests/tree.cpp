#include "lowdim/tree.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "naive.hpp"
#include "testing.hpp"

using namespace lowdim;
using namespace testing;

namespace {

TEST_FLOATS(a_tree_that_opens_every_cell_is_exact) {
    for (const Similarity& kernel : kSimilarities)
        for (int n : {1, 2, 17, 300})
            for (int dim : {1, 2, 3})
                for (bool weighted : {false, true}) {
                    const Case here("kind", int(kernel.kind), "n", n, "dim", dim, "weighted",
                                    weighted);
                    const NaiveForces<T> naive(n, dim, kernel, weighted);
                    std::vector<T> force(naive.y.size()), z(static_cast<size_t>(n));
                    Tree<T>(naive.y.data(), weighted ? naive.mass.data() : nullptr, n, dim, 3)
                        .repel(kernel, 0.0, 3, force.data(), z.data());
                    CHECK_CLOSE(relative_error(force, naive.repulsion), 0, 1e-4);
                    CHECK_CLOSE(relative_error(z, naive.z), 0, 1e-4);
                }
}

TEST_FLOATS(a_tree_approximates_far_cells) {
    for (const Similarity& kernel : kSimilarities)
        for (int dim : {1, 2, 3}) {
            const Case here("kind", int(kernel.kind), "dim", dim);
            const int n = 900;
            const NaiveForces<T> naive(n, dim, kernel, true);
            std::vector<T> one(naive.y.size()), three(one), z(static_cast<size_t>(n)), z3(z);
            const T *y = naive.y.data(), *mass = naive.mass.data();
            Tree<T>(y, mass, n, dim, 1).repel(kernel, 0.5, 1, one.data(), z.data());
            Tree<T>(y, mass, n, dim, 3).repel(kernel, 0.5, 3, three.data(), z3.data());
            CHECK_SAME_BITS(one, three);
            CHECK_SAME_BITS(z, z3);
            CHECK_CLOSE(relative_error(one, naive.repulsion), 0, 2e-2);
            CHECK_CLOSE(relative_error(z, naive.z), 0, 2e-2);
        }
}

// The key of a point by Morton's definition: the bits of the coordinates taken in turn.
uint64_t naive_key(const std::vector<uint64_t>& cell) {
    uint64_t key = 0;
    for (int bit = kCurveBits - 1; bit >= 0; --bit)
        for (uint64_t c : cell) key = key << 1 | (c >> bit & 1);
    return key;
}

TEST_FLOATS(points_are_ordered_along_the_curve) {
    Random random(31);
    for (int dim : {1, 2, 3}) {
        const Case here("dim", dim);
        const int n = 5000;  // more than a chunk of the sort
        std::vector<T> y = random.wholes<T>(n * dim, 0, (1 << 12) - 1);  // cells of 2^9 keys
        for (int c = 0; c < dim; ++c) {
            y[size_t(c)] = 0;
            y[size_t(dim + c)] = T((1 << 12) - 1);
        }
        const CurveOrder found = curve_order<T>(y.data(), n, dim, 3);
        const CurveOrder alone = curve_order<T>(y.data(), n, dim, 1);
        CHECK_EQUAL(found.keys, alone.keys);
        CHECK_EQUAL(found.order, alone.order);
        std::vector<std::pair<uint64_t, int32_t>> wanted;
        const double scale = double((1 << kCurveBits) - 1) / double((1 << 12) - 1);
        for (int i = 0; i < n; ++i) {
            std::vector<uint64_t> cell;
            for (int c = 0; c < dim; ++c)
                cell.push_back(uint64_t(double(y[size_t(i * dim + c)]) * scale));
            wanted.emplace_back(naive_key(cell), i);
        }
        std::sort(wanted.begin(), wanted.end());
        for (size_t k = 0; k < wanted.size(); ++k) {
            CHECK_EQUAL(found.keys[k], wanted[k].first);
            CHECK_EQUAL(found.order[k], wanted[k].second);
        }
    }
}

}  // namespace

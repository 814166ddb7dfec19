#include "lowdim/bregman.hpp"

#include <cmath>
#include <vector>

#include "testing.hpp"

using namespace lowdim;
using namespace testing;

namespace {

double squared_length(const std::vector<double>& matrix, const std::vector<double>& z) {
    const size_t dim = z.size();
    double sum = 0;
    for (size_t i = 0; i < dim; ++i)
        for (size_t j = 0; j < dim; ++j) sum += z[i] * matrix[i * dim + j] * z[j];
    return sum;
}

std::vector<double> identity(size_t dim) {
    std::vector<double> matrix(dim * dim, 0.0);
    for (size_t i = 0; i < dim; ++i) matrix[i * dim + i] = 1;
    return matrix;
}

// With nearly no slack, a violated bound holds with equality after its projection, and one that is
// met changes nothing.
TEST(a_projection_meets_its_bound) {
    for (int dim : {1, 2, 13}) {
        const Case here("dim", dim);
        Random random{uint32_t(dim)};
        const std::vector<double> z = random.reals<double>(dim);
        const double before = squared_length(identity(size_t(dim)), z);
        for (double sign : {1.0, -1.0}) {
            for (double factor : {0.25, 4.0}) {
                std::vector<double> matrix = identity(size_t(dim));
                double multiplier = 0, target = factor * before;
                bregman_projections(z.data(), &sign, 1, dim, 1e12, &multiplier, &target,
                                    matrix.data());
                const bool violated = (sign > 0) == (factor < 1);
                CHECK_CLOSE(squared_length(matrix, z), violated ? factor * before : before,
                            1e-9 * before);
                CHECK(violated == (multiplier > 0));
            }
        }
    }
}

TEST(a_pair_of_equal_objects_is_ignored) {
    const std::vector<double> z(3, 0.0);
    std::vector<double> matrix = identity(3);
    const double sign = -1;
    double multiplier = 0, target = 1;
    bregman_projections(z.data(), &sign, 1, 3, 1.0, &multiplier, &target, matrix.data());
    CHECK_SAME_BITS(matrix, identity(3));
    CHECK_EQUAL(multiplier, 0.0);
}

}  // namespace

#include "lowdim/stress.hpp"

#include <cmath>
#include <vector>

#include "naive.hpp"
#include "testing.hpp"

using namespace lowdim;
using namespace testing;

namespace {

template <class T>
void check_stress(int n, int dim, T scale) {
    const Case here("n", n, "dim", dim, "scale", scale);
    Random random(uint32_t(n * 10 + dim));
    std::vector<T> x = random.reals<T>(int64_t(n) * dim);
    for (T& v : x) v *= scale;
    for (int c = 0; c < dim && n > 3; ++c) x[size_t(3 * dim + c)] = x[size_t(c)];  // a duplicate
    std::vector<T> delta(size_t(n) * size_t(n), T(0));
    std::vector<int32_t> first, second;
    std::vector<T> targets, weights;
    std::vector<double> full(x.size(), 0.0), listed(x.size(), 0.0);
    double all = 0, some = 0;
    for (int i = 0; i < n; ++i)
        for (int j = i + 1; j < n; ++j) {
            const T target = T(random.real() + 0.1) * scale;
            delta[size_t(i * n + j)] = delta[size_t(j * n + i)] = target;
            all += naive_stress(x, dim, i, j, double(target), 1.0, full);
            if (random.whole(0, 2) == 0) continue;
            const T weight = T(random.whole(0, 3));
            first.push_back(j);
            second.push_back(i);
            targets.push_back(target);
            weights.push_back(weight);
            some += naive_stress(x, dim, i, j, double(target), double(weight), listed);
        }
    std::vector<T> one(x.size()), three(x.size());
    const double stress = stress_gradient<T>(delta.data(), x.data(), n, dim, 1, one.data());
    const double again = stress_gradient<T>(delta.data(), x.data(), n, dim, 3, three.data());
    const double size = double(scale) * n;
    CHECK_ROUNDED(one, full, size);
    CHECK_CLOSE(stress, all, 1e-4 * all);
    CHECK_ROUNDED(T(stress / (1 + all)), all / (1 + all), 1);
    CHECK_SAME_BITS(one, three);
    CHECK_EQUAL(stress, again);

    const auto count = int64_t(first.size());
    std::vector<T> d(first.size());
    kernels<T>().pair_distances(first.data(), second.data(), x.data(), dim, 0, count, d.data());
    const double pairs = pair_gradient<T>(first.data(), second.data(), d.data(), targets.data(),
                                          weights.data(), count, x.data(), n, dim, 1, one.data());
    pair_gradient<T>(first.data(), second.data(), d.data(), targets.data(), weights.data(), count,
                     x.data(), n, dim, 3, three.data());
    CHECK_ROUNDED(one, listed, size);
    CHECK_ROUNDED(T(pairs / (1 + some)), some / (1 + some), 1);
    CHECK_SAME_BITS(one, three);
}

TEST_FLOATS(pairs_of_tiles_meet_in_order) {
    const int n = 37, side = 3, n_tiles = 6;
    Random random(6);
    std::vector<T> one = random.reals<T>(n * 2), targets(size_t(n_tiles * side * side), T(0.5));
    std::vector<int32_t> order(size_t(n), 0);
    for (int i = 0; i < n; ++i) order[size_t(i)] = int32_t((i * 5 + 2) % n);
    std::vector<T> three = one, naive = one;
    stress_sgd_round<T>(order.data(), n_tiles, side, targets.data(), nullptr, 0.4, 2, 1,
                        one.data());
    stress_sgd_round<T>(order.data(), n_tiles, side, targets.data(), nullptr, 0.4, 2, 3,
                        three.data());
    for (int t = 0; t < n_tiles; ++t)
        for (int a = 0; a < side; ++a)
            for (int b = 0; b < side; ++b) {
                T* p = &naive[size_t(2 * order[size_t(t * 2 * side + a)])];
                T* q = &naive[size_t(2 * order[size_t(t * 2 * side + side + b)])];
                const T d = std::hypot(p[0] - q[0], p[1] - q[1]);
                for (int c = 0; c < 2; ++c) {
                    const T move = T(0.2) * (T(0.5) - d) / d * (p[c] - q[c]);
                    p[c] += move;
                    q[c] -= move;
                }
            }
    CHECK_ROUNDED(one, std::vector<double>(naive.begin(), naive.end()), 10);
    CHECK_SAME_BITS(one, three);
}

TEST_FLOATS(stress_and_its_gradient) {
    for (int n : {1, 2, 9, 256, 300})
        for (int dim : {1, 2, 3, 7})
            for (double scale : {1e-9, 1.0, 1e7}) check_stress<T>(n, dim, T(scale));
}

}  // namespace

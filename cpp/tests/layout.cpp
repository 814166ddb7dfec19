#include "lowdim/layout.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "lowdim/graph.hpp"
#include "lowdim/pair_layout.hpp"
#include "lowdim/triplets.hpp"
#include "testing.hpp"

using namespace lowdim;
using namespace testing;

namespace {

// Some arcs from n vertices to n_targets ones.
template <class T>
Csr<T> random_arcs(Random& random, int n, int n_targets, int most) {
    Csr<T> graph;
    graph.indptr.push_back(0);
    for (int i = 0; i < n; ++i) {
        for (int count = random.whole(0, most); count > 0; --count) {
            graph.indices.push_back(random.whole(0, n_targets - 1));
            graph.data.push_back(T(random.whole(1, 8)) / 8);
        }
        graph.indptr.push_back(int64_t(graph.indices.size()));
    }
    return graph;
}

uint32_t naive_draw(uint32_t vertex, const LayoutStep<double>& step, int draw, uint32_t n) {
    uint32_t h = vertex * step.stride + step.key + uint32_t(draw) * 0x85ebca77u;
    h = (h ^ (h >> 16)) * 0x7feb352du;
    h = (h ^ (h >> 15)) * 0x846ca68bu;
    h ^= h >> 16;
    return uint32_t((uint64_t(h) * n) >> 32);
}

// One epoch by the formulas, in double precision, of vertices among themselves (fixed null) or
// against a map that stands still; returns the cross-entropy.
double naive_epoch(const Csr<double>& graph, const UmapCurve& law, const LayoutStep<double>& step,
                   int n, int dim, const std::vector<double>& at, std::vector<double>& velocity,
                   std::vector<double>& moved) {
    double loss = 0;
    for (int i = 0; i < n; ++i) {
        std::vector<double> force(size_t(dim), 0.0);
        double stiffness = 0, degree = 0;
        const auto gap_to = [&](int64_t j, int c) {
            return step.fixed[j * dim + c] - at[size_t(i * dim + c)];
        };
        const auto square_to = [&](int64_t j) {
            double s = 0;
            for (int c = 0; c < dim; ++c) s += gap_to(j, c) * gap_to(j, c);
            return s;
        };
        for (int64_t e = graph.indptr[size_t(i)]; e < graph.indptr[size_t(i) + 1]; ++e) {
            const int64_t j = graph.indices[size_t(e)];
            const double s = std::max(square_to(j), 1e-6), p = std::pow(s, law.b);
            const double w = graph.data[size_t(e)];
            double factor = 4 * w * law.a * law.b * p / (s * (1 + law.a * p));
            stiffness += factor;
            degree += w;
            loss += w * std::log(1 + law.a * p);
            if (step.gradient_over_spread) {
                const double near = 1 / (1 + law.a * p), bend = law.a * law.b * p * near / s;
                const double gain =
                    near * ((1 - law.b * (1 - near)) *
                                (step.gradient_over_spread[i] + step.gradient_over_spread[j]) +
                            bend * (step.gradient_over_mass[i] + step.gradient_over_mass[j]));
                factor -= gain;
                stiffness += std::abs(gain);
            }
            for (int c = 0; c < dim; ++c) force[size_t(c)] += factor * gap_to(j, c);
        }
        const auto met = int(step.n_negatives > 0 ? step.n_negatives : step.n_fixed);
        const double share = step.repulsion * degree / met;
        for (int draw = 0; draw < met; ++draw) {
            const int64_t j =
                step.n_negatives > 0
                    ? int64_t(naive_draw(uint32_t(i), step, draw, uint32_t(step.n_fixed)))
                    : draw;
            const double square = square_to(j), s = std::max(square, 1e-6);
            const double p = std::pow(s, law.b);
            const double excess = (1 - law.largest) / law.a;
            const double push =
                2 * law.b * law.largest / ((square + 1e-3 + excess) * (1 + law.a * p));
            loss += share * std::log((1 + law.a * p) / (law.a * (p + excess)));
            for (int c = 0; c < dim; ++c)
                force[size_t(c)] -= share * std::clamp(push * gap_to(j, c), -4.0, 4.0);
        }
        for (int c = 0; c < dim; ++c) {
            double& v = velocity[size_t(i * dim + c)];
            v = std::clamp(step.momentum * v + step.rate / (1 + stiffness) * force[size_t(c)], -4.0,
                           4.0);
            moved[size_t(i * dim + c)] = at[size_t(i * dim + c)] + v;
        }
    }
    return loss;
}

template <class T>
void check_layout(int n, int n_fixed, int dim, int n_negatives, bool dense) {
    const Case here("n", n, "n_fixed", n_fixed, "dim", dim, "n_negatives", n_negatives, "dense",
                    dense);
    Random random(uint32_t(23 + n + dim));
    const bool among = n_fixed == 0;
    const int n_targets = among ? n : n_fixed;
    const Csr<T> graph = random_arcs<T>(random, n, n_targets, 9);
    Csr<double> exact{graph.indptr, graph.indices, {graph.data.begin(), graph.data.end()}};
    std::vector<int32_t> rank(static_cast<size_t>(n));
    std::iota(rank.begin(), rank.end(), 0);
    const OwnedVertexGroups<T> arcs = group_vertices(n, graph.indptr.data(), graph.indices.data(),
                                                     graph.data.data(), rank.data(), among, 3);
    std::vector<T> y = random.reals<T>(n * dim), fixed = random.reals<T>(n_targets * dim);
    const std::vector<T> speed = random.reals<T>(n * dim);
    const std::vector<T> gradient_over_spread = random.reals<T>(n),
                         gradient_over_mass = random.reals<T>(n);
    for (T& v : y) v *= 3;
    for (T& v : fixed) v *= 3;
    const UmapCurve law = n % 2 ? UmapCurve{1.6, 0.9} : UmapCurve{0.3, 1, 0.7};
    LayoutStep<T> step{};
    step.rate = 0.7;
    step.momentum = 0.4;
    step.repulsion = 5;
    step.fixed = among ? y.data() : fixed.data();
    step.n_fixed = n_targets;
    step.n_negatives = n_negatives;
    step.key = 12345;
    step.stride = among ? kVertexStride : 0u;
    step.gradient_over_spread = dense ? gradient_over_spread.data() : nullptr;
    step.gradient_over_mass = dense ? gradient_over_mass.data() : nullptr;
    std::vector<T> one(y.size()), three(y.size()), v1 = speed, v3 = speed;
    const double loss =
        layout_epoch(arcs.view(), law, step, y.data(), v1.data(), one.data(), dim, true, 1);
    const std::vector<double> at(y.begin(), y.end()), map(step.fixed, step.fixed + n_targets * dim);
    const std::vector<double> r64(gradient_over_spread.begin(), gradient_over_spread.end());
    const std::vector<double> m64(gradient_over_mass.begin(), gradient_over_mass.end());
    LayoutStep<double> plain{};
    plain.rate = step.rate;
    plain.momentum = step.momentum;
    plain.repulsion = step.repulsion;
    plain.fixed = map.data();
    plain.n_fixed = n_targets;
    plain.n_negatives = n_negatives;
    plain.key = step.key;
    plain.stride = step.stride;
    plain.gradient_over_spread = dense ? r64.data() : nullptr;
    plain.gradient_over_mass = dense ? m64.data() : nullptr;
    std::vector<double> velocity(speed.begin(), speed.end()), moved(at.size());
    const double wanted = naive_epoch(exact, law, plain, n, dim, at, velocity, moved);
    const double slack = sizeof(T) == 4 ? 2e-4 : 2e-6;
    CHECK_CLOSE(loss, wanted, slack * (1 + std::abs(wanted)));
    for (size_t i = 0; i < moved.size(); ++i) {
        CHECK_CLOSE(double(one[i]), moved[i], slack);
        CHECK_CLOSE(double(v1[i]), velocity[i], slack);
    }
    layout_epoch(arcs.view(), law, step, y.data(), v3.data(), three.data(), dim, false, 3);
    // sums without the loss may be rounded otherwise
    for (size_t i = 0; i < one.size(); ++i) CHECK_CLOSE(double(one[i]), double(three[i]), slack);
    std::vector<T> again(y.size()), v = speed;
    layout_epoch(arcs.view(), law, step, y.data(), v.data(), again.data(), dim, false, 1);
    CHECK_SAME_BITS(again, three);
    CHECK_SAME_BITS(v, v3);
}

TEST(powers_by_table) {
    for (const double b : {0.1, 0.4, 0.79, 0.895, 1.0, 1.5, 2.0, 2.7, 4.0, 4.1, 7.0, 9.1, 10.0}) {
        const PowerTable table = power_table(b);
        for (double x = 1e-6; x < 1e13; x *= 1.0037) {
            const int exponent = std::ilogb(x);
            double product = 0;
            for (int t = kPowerTerms - 1; t >= 0; --t)
                product = product * (std::ldexp(x, -exponent) - 1.5) + table.terms[t];
            product *= table.octaves[exponent - kFirstOctave];
            if (table.squared) product *= product;
            if (b * exponent > -120 && b * (exponent + 1) < 120) {
                CHECK_CLOSE(product / std::pow(x, b), 1.0, 5e-7);
            } else {  // cut off within the range of single precision
                CHECK(product < 1.4e36 && product > 1e-37);
            }
        }
    }
}

TEST_FLOATS(radii) {
    Random random(24);
    const int n = 77, dim = 3;
    const Csr<T> graph = random_arcs<T>(random, n, n, 6);
    std::vector<int32_t> rank(n);
    for (int i = 0; i < n; ++i) rank[size_t(i)] = n - 1 - i;
    const OwnedVertexGroups<T> arcs = group_vertices(n, graph.indptr.data(), graph.indices.data(),
                                                     graph.data.data(), rank.data(), true, 3);
    const std::vector<T> y = random.reals<T>(n * dim);  // by rank
    std::vector<T> mass(n), spread(n);
    layout_radii(arcs.view(), UmapCurve{1.6, 0.9}, y.data(), dim, 3, mass.data(), spread.data());
    for (int i = 0; i < n; ++i) {
        double near = 0, weighted = 0;
        for (int64_t e = graph.indptr[size_t(i)]; e < graph.indptr[size_t(i) + 1]; ++e) {
            const int j = graph.indices[size_t(e)];
            double s = 0;
            for (int c = 0; c < dim; ++c) {
                const double gap = double(y[size_t(rank[size_t(i)] * dim + c)]) -
                                   double(y[size_t(rank[size_t(j)] * dim + c)]);
                s += gap * gap;
            }
            const double q = 1 / (1 + 1.6 * std::pow(std::max(s, 1e-6), 0.9));
            near += q;
            weighted += q * s;
        }
        CHECK_CLOSE(double(mass[size_t(rank[size_t(i)])]), near, 1e-4);
        CHECK_CLOSE(double(spread[size_t(rank[size_t(i)])]), weighted, 1e-4);
    }
}

TEST_FLOATS(vertices_move_by_the_formulas) {
    for (int n : {1, 15, 16, 17, 1100})
        for (int dim : {1, 2, 3, 5})
            for (bool dense : {false, true})
                for (int n_negatives : {0, 6}) check_layout<T>(n, 0, dim, n_negatives, dense);
    for (int dim : {1, 2, 3, 5}) {
        check_layout<T>(20, 50, dim, 0, false);
        check_layout<T>(1100, 50, dim, 6, false);
    }
}

TEST_FLOATS(saturating_laws_by_the_formulas) {
    for (int dim : {1, 2, 5})
        for (double reach : {0.0, 5.0}) {
            Random random(uint32_t(40 + dim));
            const int n = 300;
            const Csr<T> graph = random_arcs<T>(random, n, n, 9);
            std::vector<int32_t> rank(n);
            std::iota(rank.begin(), rank.end(), 0);
            const OwnedVertexGroups<T> arcs =
                group_vertices(n, graph.indptr.data(), graph.indices.data(), graph.data.data(),
                               rank.data(), true, 3);
            std::vector<T> y = random.reals<T>(n * dim);
            for (T& v : y) v *= 3;
            const SaturatingLaw law{10, -0.7, reach};
            std::vector<double> wanted(y.size(), 0.0);
            double loss = 0;
            for (int i = 0; i < n; ++i)
                for (int64_t e = graph.indptr[size_t(i)]; e < graph.indptr[size_t(i) + 1]; ++e) {
                    const int j = graph.indices[size_t(e)];
                    const auto gap = [&](int c) {
                        return double(y[size_t(i * dim + c)]) - double(y[size_t(j * dim + c)]);
                    };
                    double d = 1;
                    for (int c = 0; c < dim; ++c) d += gap(c) * gap(c);
                    const double w = law.weight * double(graph.data[size_t(e)]);
                    loss += w * d / (10 + d) / 2;
                    const double bent = reach > 0 ? reach / std::sqrt(d) : 1;
                    for (int c = 0; c < dim; ++c)
                        wanted[size_t(i * dim + c)] +=
                            bent * 20 * w / ((10 + d) * (10 + d)) * gap(c);
                }
            std::vector<T> one(y.size(), T(0)), three(y.size(), T(0));
            const double found =
                add_saturating_gradient(arcs.view(), law, y.data(), one.data(), dim, 1);
            add_saturating_gradient(arcs.view(), law, y.data(), three.data(), dim, 3);
            CHECK_SAME_BITS(one, three);
            const double slack = sizeof(T) == 4 ? 1e-4 : 1e-12;
            CHECK_CLOSE(found, loss, slack * (1 + std::abs(loss)));
            for (size_t k = 0; k < wanted.size(); ++k)
                CHECK_CLOSE(double(one[k]), wanted[k], slack);
        }
}

TEST_FLOATS(triplets_by_the_formulas) {
    for (int dim : {1, 2, 5}) {
        Random random(uint32_t(50 + dim));
        const int n = 600, n_groups = (n + kGroupSize - 1) / kGroupSize;
        struct Lists {
            int n_near, n_far;
            std::vector<int32_t> near, shifts;
            std::vector<T> weights;
        };
        std::vector<Lists> lists{{5, 4, {}, {}, {}}, {3, 1, {}, {}, {}}};
        for (Lists& kind : lists) {
            for (int t = 0; t < kind.n_near * n; ++t) kind.near.push_back(random.whole(0, n - 1));
            for (int t = 0; t < kind.n_near * kind.n_far * n_groups; ++t)
                kind.shifts.push_back(random.whole(0, n - 1));
            for (int t = 0; t < kind.n_near * kind.n_far * n; ++t)
                kind.weights.push_back(T(random.whole(0, 8)) / 8);
        }
        const std::vector<T> y = random.reals<T>(n * dim);
        std::vector<double> wanted(y.size(), 0.0);
        double loss = 0;
        for (const Lists& kind : lists)
            for (size_t t = 0; t < kind.weights.size(); ++t) {
                const int i = int(t) % n, slot = int(t) / n / kind.n_far;
                const size_t group = t / n * n_groups + size_t(i / kGroupSize);
                const int j = kind.near[size_t(slot * n + i)], k = (i + kind.shifts[group]) % n;
                const auto gap = [&](int other, int c) {
                    return double(y[size_t(i * dim + c)]) - double(y[size_t(other * dim + c)]);
                };
                double a = 1, b = 1;
                for (int c = 0; c < dim; ++c) {
                    a += gap(j, c) * gap(j, c);
                    b += gap(k, c) * gap(k, c);
                }
                const double w = double(kind.weights[t]), scale = 2 * w / ((a + b) * (a + b));
                loss += w * a / (a + b);
                for (int c = 0; c < dim; ++c) {
                    wanted[size_t(i * dim + c)] += scale * (b * gap(j, c) - a * gap(k, c));
                    wanted[size_t(j * dim + c)] -= scale * b * gap(j, c);
                    wanted[size_t(k * dim + c)] += scale * a * gap(k, c);
                }
            }
        std::vector<Triplets<T>> triplets;
        for (const Lists& kind : lists)
            triplets.push_back({n, kind.n_near, kind.n_far, kind.near.data(), kind.shifts.data(),
                                kind.weights.data()});
        std::vector<T> one(y.size()), three(y.size());
        TripletSums<T> memory;  // used twice: what the first call leaves must not count
        const double found = triplet_gradient(triplets, y.data(), n, dim, one.data(), memory, 1);
        triplet_gradient(triplets, y.data(), n, dim, three.data(), memory, 3);
        CHECK_SAME_BITS(one, three);
        const double slack = sizeof(T) == 4 ? 2e-4 : 1e-11;
        CHECK_CLOSE(found, loss, slack * (1 + loss));
        for (size_t k = 0; k < wanted.size(); ++k) CHECK_CLOSE(double(one[k]), wanted[k], slack);
    }
}

}  // namespace

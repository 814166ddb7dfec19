// Layouts of weighted graphs.
#include "lowdim/layout.hpp"

#include "checks.hpp"
#include "lowdim/pair_layout.hpp"
#include "lowdim/triplets.hpp"

namespace lowdim {
namespace {

template <class T>
VertexGroups<T> checked_groups(const In1<int32_t>& members, const In1<int64_t>& starts,
                               const In1<int32_t>& targets, const In1<T>& weights, int64_t n,
                               int64_t n_targets) {
    const auto n_groups = int64_t(starts.shape(0)) - 1;
    expect(n_groups >= 0 && has_shape(members, n_groups * kGroupSize),
           "members must have as many groups as starts");
    expect(starts.data()[0] == 0, "starts must begin at 0");
    expect(std::is_sorted(starts.data(), starts.data() + n_groups + 1), "starts must not decrease");
    const int64_t size = starts.data()[n_groups] * kGroupSize;
    expect(has_shape(targets, size) && has_shape(weights, size),
           "targets and weights must have one entry per arc");
    expect_range(members, -1, n, "members and targets must lie in [0, n)");
    expect_range(targets, 0, n_targets, "members and targets must lie in [0, n)");
    return {n_groups, members.data(), starts.data(), targets.data(), weights.data()};
}

// All entries of an array in one row.
template <class A>
In1<int32_t> flat(const A& ids) {
    const size_t size = ids.size();
    return In1<int32_t>(ids.data(), 1, &size, nb::handle());
}

template <class T>
void bind(nb::module_& m) {
    m.def(
        "layout_arcs",
        [](In1<int64_t> indptr, In1<int32_t> indices, In1<T> data, In1<int32_t> rank,
           int64_t n_targets, int n_threads) {
            const auto n = int64_t(rank.shape(0));
            const bool targets_are_vertices = n_targets < 0;
            expect(has_shape(indptr, n + 1), "rank must have one entry per vertex");
            check_csr(indptr, indices, data, targets_are_vertices ? n : n_targets);
            expect_permutation(rank, n, "rank must be a permutation");
            OwnedVertexGroups<T> out = unlocked([&] {
                return group_vertices<T>(n, indptr.data(), indices.data(), data.data(), rank.data(),
                                         targets_are_vertices, n_threads);
            });
            return nb::make_tuple(to_numpy(std::move(out.members)), to_numpy(std::move(out.starts)),
                                  to_numpy(std::move(out.targets)),
                                  to_numpy(std::move(out.weights)));
        },
        "indptr"_array, "indices"_array, "data"_array, "rank"_array, "n_targets"_a, "n_threads"_a);
    m.def(
        "layout_epochs",
        [](In1<int32_t> members, In1<int64_t> starts, In1<int32_t> targets, In1<T> weights,
           Out2<T> y, Out2<T> velocity, In2<T> fixed, nb::tuple curve, nb::tuple rates,
           int n_negatives, nb::tuple epochs, uint32_t seed, In1<T> gradient_over_spread,
           In1<T> gradient_over_mass, In1<T> masses, bool loss, int n_threads) {
            const auto n = int64_t(y.shape(0)), dim = int64_t(y.shape(1));
            const bool targets_are_vertices = fixed.shape(0) == 0,
                       has_density = gradient_over_spread.shape(0) > 0;
            const int64_t n_fixed = targets_are_vertices ? n : int64_t(fixed.shape(0));
            const VertexGroups<T> graph =
                checked_groups<T>(members, starts, targets, weights, n, n_fixed);
            expect(same_shape(velocity, y), "velocity must have the shape of y");
            expect(targets_are_vertices || int64_t(fixed.shape(1)) == dim,
                   "fixed must have the columns of y");
            expect(!has_density || (targets_are_vertices && has_shape(gradient_over_spread, n) &&
                                    has_shape(gradient_over_mass, n)),
                   "gradient_over_spread and gradient_over_mass must have one entry per vertex");
            expect(masses.shape(0) == 0 || has_shape(masses, n_fixed),
                   "masses must have one entry per target");
            expect(n_negatives >= 0 && dim >= 1, "n_negatives must not be negative");
            expect(n_fixed * dim <= INT32_MAX, "the map must have fewer than 2^31 coordinates");
            const UmapCurve law{nb::cast<double>(curve[0]), nb::cast<double>(curve[1]),
                                curve.size() > 2 ? nb::cast<double>(curve[2]) : 1.0};
            LayoutStep<T> step{};
            step.repulsion = nb::cast<double>(rates[2]);
            step.fixed = targets_are_vertices ? nullptr : fixed.data();
            step.n_fixed = n_fixed;
            step.n_negatives = n_negatives;
            step.stride = targets_are_vertices ? kVertexStride : 0u;
            step.gradient_over_spread = has_density ? gradient_over_spread.data() : nullptr;
            step.gradient_over_mass = has_density ? gradient_over_mass.data() : nullptr;
            step.masses = masses.shape(0) > 0 ? masses.data() : nullptr;
            const LayoutRun run{nb::cast<int64_t>(epochs[0]), nb::cast<int64_t>(epochs[1]),
                                nb::cast<int64_t>(epochs[2]), nb::cast<double>(rates[0]),
                                nb::cast<double>(rates[1]),   seed};
            const Released released;
            return layout_epochs(graph, law, step, run, y.data(), velocity.data(), n, int(dim),
                                 loss, n_threads);
        },
        "members"_array, "starts"_array, "targets"_array, "weights"_array, "y"_array,
        "velocity"_array, "fixed"_array, "curve"_a, "rates"_a, "n_negatives"_a, "epochs"_a,
        "seed"_a, "gradient_over_spread"_array, "gradient_over_mass"_array, "masses"_array,
        "loss"_a, "n_threads"_a);
    m.def(
        "layout_radii",
        [](In1<int32_t> members, In1<int64_t> starts, In1<int32_t> targets, In1<T> weights,
           In2<T> y, double a, double b, Out1<T> mass, Out1<T> spread, int n_threads) {
            const auto n = int64_t(y.shape(0));
            const VertexGroups<T> graph =
                checked_groups<T>(members, starts, targets, weights, n, n);
            expect(has_shape(mass, n) && has_shape(spread, n),
                   "mass and spread must have one entry per vertex");
            const Released released;
            layout_radii(graph, UmapCurve{a, b}, y.data(), int(y.shape(1)), n_threads, mass.data(),
                         spread.data());
        },
        "members"_array, "starts"_array, "targets"_array, "weights"_array, "y"_array, "a"_a, "b"_a,
        "mass"_array, "spread"_array, "n_threads"_a);
    m.def(
        "pair_epochs",
        [](nb::list arcs, Out2<T> y, Out2<T> mean, Out2<T> square, In3<double> laws,
           In1<double> rates, int n_threads) {
            const auto n = int64_t(y.shape(0)), dim = int64_t(y.shape(1));
            std::vector<VertexGroups<T>> kinds;
            for (nb::handle kind : arcs) {
                const auto parts = nb::cast<nb::tuple>(kind);
                kinds.push_back(checked_groups<T>(
                    nb::cast<In1<int32_t>>(parts[0]), nb::cast<In1<int64_t>>(parts[1]),
                    nb::cast<In1<int32_t>>(parts[2]), nb::cast<In1<T>>(parts[3]), n, n));
            }
            expect(same_shape(mean, y) && same_shape(square, y),
                   "mean and square must have the shape of y");
            expect(has_shape(laws, rates.shape(0), kinds.size(), 3),
                   "laws must have three numbers for each epoch and kind of arcs");
            expect(n * dim <= INT32_MAX, "the map must have fewer than 2^31 coordinates");
            const Released released;
            return pair_epochs(kinds, reinterpret_cast<const SaturatingLaw*>(laws.data()),
                               rates.data(), int64_t(rates.shape(0)), y.data(), mean.data(),
                               square.data(), n, int(dim), n_threads);
        },
        "arcs"_a, "y"_array, "mean"_array, "square"_array, "laws"_array, "rates"_array,
        "n_threads"_a);
    m.def(
        "draw_others",
        [](In2<int32_t> listed, uint32_t seed, In2<T> y, double reach, Out2<int32_t> drawn,
           int n_threads) {
            const auto n = int64_t(listed.shape(0));
            expect(int64_t(y.shape(0)) == n && int64_t(drawn.shape(0)) == n,
                   "listed, y and drawn must have one row per vertex");
            const Released released;
            draw_others(n, listed.data(), int64_t(listed.shape(1)), seed, y.data(), int(y.shape(1)),
                        reach, int64_t(drawn.shape(1)), drawn.data(), n_threads);
        },
        "listed"_array, "seed"_a, "y"_array, "reach"_a, "drawn"_array, "n_threads"_a);
    m.def(
        "triplet_epochs",
        [](nb::list triplets, Out2<T> y, Out2<T> velocity, Out2<T> gains, double rate,
           In1<double> momenta, double min_gain, double max_step, int n_threads) {
            const auto n = int64_t(y.shape(0));
            expect(same_shape(velocity, y) && same_shape(gains, y),
                   "velocity and gains must have the shape of y");
            expect(int64_t(y.size()) <= INT32_MAX, "the map must have fewer than 2^31 coordinates");
            std::vector<Triplets<T>> kinds;
            for (nb::handle kind : triplets) {
                const auto parts = nb::cast<nb::tuple>(kind);
                const auto near = nb::cast<In2<int32_t>>(parts[0]);
                const auto shifts = nb::cast<In3<int32_t>>(parts[1]);
                const auto weights = nb::cast<In3<T>>(parts[2]);
                const auto n_near = int64_t(near.shape(0)), n_far = int64_t(shifts.shape(1));
                expect(has_shape(near, n_near, n) && has_shape(weights, n_near, n_far, n),
                       "near and weights must have one column per vertex");
                expect(has_shape(shifts, n_near, n_far, (n + kGroupSize - 1) / kGroupSize),
                       "shifts must have one column per group of vertices");
                expect_range(flat(near), 0, n, "near and shifts must lie in [0, n)", n_threads);
                expect_range(flat(shifts), 0, n, "near and shifts must lie in [0, n)", n_threads);
                kinds.push_back({n, n_near, n_far, near.data(), shifts.data(), weights.data()});
            }
            const Released released;
            return triplet_epochs(kinds, {rate, 0.0, min_gain, max_step}, momenta.data(),
                                  int64_t(momenta.shape(0)), y.data(), velocity.data(),
                                  gains.data(), n, int(y.shape(1)), n_threads);
        },
        "triplets"_a, "y"_array, "velocity"_array, "gains"_array, "rate"_a, "momenta"_array,
        "min_gain"_a, "max_step"_a, "n_threads"_a);
}

}  // namespace

void bind_layout(nb::module_& m) {
    bind<float>(m);
    bind<double>(m);
}

}  // namespace lowdim

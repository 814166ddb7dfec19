// Weighted samples of the other objects of each object.
#include "lowdim/samples.hpp"

#include "checks.hpp"

namespace lowdim {
namespace {

void expect_ids(const In2<int32_t>& ids, int64_t n, int n_threads) {
    const size_t size = ids.size();
    expect_range(In1<int32_t>(ids.data(), {size}), -1, n, "ids must be in [-1, n)", n_threads);
}

template <class T>
void bind(nb::module_& m) {
    m.def(
        "join_samples",
        [](In2<int32_t> near, In2<T> near_distances, In2<int32_t> more, In2<T> more_distances,
           In2<T> radii, In2<double> map_radii, In2<double> y, In1<int32_t> labels, int ratio,
           double largest, In1<float> weight_of, Out1<int64_t> indptr, Out1<int32_t> indices,
           Out1<float> squared, Out1<float> weights, int n_threads) {
            const size_t n = y.shape(0), all = near.size() + more.size();
            expect(near.shape(0) == n && more.shape(0) == n && same_shape(near, near_distances) &&
                       same_shape(more, more_distances) && radii.shape(0) == n &&
                       map_radii.shape(0) == n && has_shape(labels, n) && has_shape(indptr, n + 1),
                   "lists, radii, y and labels must have n rows, indptr n + 1");
            expect(has_shape(indices, all) && has_shape(squared, all) && has_shape(weights, all),
                   "results must have a place for each candidate");
            expect(ratio >= 1 && weight_of.shape(0) > radii.shape(1) && map_radii.shape(1) < 15 &&
                       weight_of.shape(0) < 15,
                   "each level must have a weight, and there must be fewer than 15");
            expect_ids(near, int64_t(n), n_threads);
            expect_ids(more, int64_t(n), n_threads);
            const Released released;
            SampleJoin<T> join({near.data(), near_distances.data(), int64_t(near.shape(1))},
                               {more.data(), more_distances.data(), int64_t(more.shape(1))},
                               {radii.data(), int64_t(radii.shape(1))},
                               {map_radii.data(), int64_t(map_radii.shape(1))}, y.data(),
                               int(y.shape(1)), labels.data(), int64_t(n), ratio);
            join.choose(n_threads, indptr.data());
            join.write(indptr.data(), T(largest), weight_of.data(), n_threads, indices.data(),
                       squared.data(), weights.data());
        },
        "near"_array, "near_distances"_array, "more"_array, "more_distances"_array, "radii"_array,
        "map_radii"_array, "y"_array, "labels"_array, "ratio"_a, "largest"_a, "weight_of"_array,
        "indptr"_array, "indices"_array, "squared"_array, "weights"_array, "n_threads"_a);
}

}  // namespace

void bind_samples(nb::module_& m) {
    bind<float>(m);
    bind<double>(m);
    m.def(
        "nearest_in_groups",
        [](In2<double> y, Out1<int32_t> members, In1<int64_t> starts, Out2<int32_t> ids,
           Out2<double> distances, int n_threads) {
            const size_t n = y.shape(0);
            expect(ids.shape(0) == n && same_shape(ids, distances) && ids.shape(1) >= 1,
                   "ids and distances must be (n, k)");
            expect_permutation(In1<int32_t>(members.data(), {members.shape(0)}), int64_t(n),
                               "members must be a permutation");
            expect(check_indptr(starts, int64_t(n)) >= 1, "there must be a group");
            const Released released;
            nearest_in_groups(y.data(), int(y.shape(1)), members.data(), starts.data(),
                              int64_t(starts.shape(0)) - 1, int64_t(ids.shape(1)), n_threads,
                              ids.data(), distances.data());
        },
        "y"_array, "members"_array, "starts"_array, "ids"_array, "distances"_array, "n_threads"_a);
    m.def(
        "drop_listed",
        [](In2<int32_t> listed, Out2<int32_t> ids, int n_threads) {
            const auto n = int64_t(listed.shape(0));
            expect(int64_t(ids.shape(0)) == n, "both must have n rows");
            expect_ids(listed, n, n_threads);
            expect_ids(In2<int32_t>(ids.data(), {ids.shape(0), ids.shape(1)}), n, n_threads);
            const Released released;
            drop_listed(listed.data(), n, int64_t(listed.shape(1)), int64_t(ids.shape(1)),
                        n_threads, ids.data());
        },
        "listed"_array, "ids"_array, "n_threads"_a);
}

}  // namespace lowdim

// The only file that knows Python: checks shapes, releases the interpreter lock, calls the core.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "lowdim/geodesics.hpp"
#include "lowdim/graph.hpp"
#include "lowdim/kernels.hpp"
#include "lowdim/neighbors.hpp"
#include "lowdim/parallel.hpp"
#include "lowdim/reconstruction.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace lowdim;

namespace {

template <class T>
using In1 = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using In2 = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using In3 = nb::ndarray<const T, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
template <class T>
using Out2 = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

void expect(bool condition, const char* what) {
    if (!condition) throw std::invalid_argument(what);
}

template <class T>
nb::object to_numpy(std::vector<T>&& values) {
    auto* owned = new std::vector<T>(std::move(values));
    nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(owned->data(), {owned->size()}, owner));
}

// The index arrays of a graph must be consistent, so that the core can trust them.
int64_t check_structure(const In1<int64_t>& indptr, const In1<int32_t>& indices) {
    expect(indptr.shape(0) >= 1, "indptr must have at least one entry");
    const auto n = int64_t(indptr.shape(0)) - 1;
    expect(indptr.data()[0] == 0, "indptr must start at 0");
    for (int64_t i = 0; i < n; ++i)
        expect(indptr.data()[i] <= indptr.data()[i + 1], "indptr must not decrease");
    expect(indices.shape(0) == size_t(indptr.data()[n]), "indices must have indptr[-1] entries");
    for (size_t e = 0; e < indices.shape(0); ++e)
        expect(indices.data()[e] >= 0 && indices.data()[e] < n, "indices must lie in [0, n)");
    return n;
}

template <class T>
Graph<T> checked_graph(const In1<int64_t>& indptr, const In1<int32_t>& indices,
                       const In1<T>& data) {
    const int64_t n = check_structure(indptr, indices);
    expect(data.shape(0) == indices.shape(0), "indices and data must have indptr[-1] entries");
    return {n, indptr.data(), indices.data(), data.data()};
}

template <class T>
void bind_for(nb::module_& m) {
    m.def(
        "offer_to_rows",
        [](In2<T> tile, In1<T> offset, int32_t first_row, int32_t first_col, T scale,
           Out2<T> values, Out2<int32_t> ids, int n_threads) {
            expect(offset.shape(0) == tile.shape(1), "offset must have one entry per column");
            expect(values.shape(0) == tile.shape(0) && ids.shape(0) == tile.shape(0) &&
                       values.shape(1) == ids.shape(1) && values.shape(1) >= 1,
                   "values and ids must be (rows, k)");
            const Tile<T> t{
                tile.data(), tile.shape(1), int(tile.shape(0)), int(tile.shape(1)), first_row,
                first_col,   scale};
            const Heap<T> heap{values.data(), ids.data(), int(values.shape(1))};
            nb::gil_scoped_release unlocked;
            parallel_ranges(t.rows, 64, n_threads, [&](int64_t begin, int64_t end, int) {
                kernels<T>().offer_to_rows(t, offset.data(), int(begin), int(end), heap);
            });
        },
        "tile"_a.noconvert(), "offset"_a.noconvert(), "first_row"_a, "first_col"_a, "scale"_a,
        "values"_a.noconvert(), "ids"_a.noconvert(), "n_threads"_a);
    m.def(
        "offer_to_columns",
        [](In2<T> tile, In1<T> offset, int32_t first_row, int32_t first_col, T scale,
           Out2<T> values, Out2<int32_t> ids, int n_threads) {
            expect(offset.shape(0) == tile.shape(0), "offset must have one entry per row");
            expect(values.shape(0) == tile.shape(1) && ids.shape(0) == tile.shape(1) &&
                       values.shape(1) == ids.shape(1) && values.shape(1) >= 1,
                   "values and ids must be (columns, k)");
            const Tile<T> t{
                tile.data(), tile.shape(1), int(tile.shape(0)), int(tile.shape(1)), first_row,
                first_col,   scale};
            const Heap<T> heap{values.data(), ids.data(), int(values.shape(1))};
            nb::gil_scoped_release unlocked;
            std::vector<T> bounds(tile.shape(1));
            parallel_ranges(t.cols, 512, n_threads, [&](int64_t begin, int64_t end, int) {
                kernels<T>().offer_to_columns(t, offset.data(), int(begin), int(end), heap,
                                              bounds.data());
            });
        },
        "tile"_a.noconvert(), "offset"_a.noconvert(), "first_row"_a, "first_col"_a, "scale"_a,
        "values"_a.noconvert(), "ids"_a.noconvert(), "n_threads"_a);
    m.def(
        "rerank",
        [](In2<T> queries, In2<T> points, In2<int32_t> candidates, bool cosine, Out2<int32_t> ids,
           Out2<T> distances, int n_threads) {
            expect(queries.shape(1) == points.shape(1), "queries and points must have equal width");
            expect(
                candidates.shape(0) == queries.shape(0) && ids.shape(0) == queries.shape(0) &&
                    distances.shape(0) == queries.shape(0) && ids.shape(1) == distances.shape(1) &&
                    ids.shape(1) <= candidates.shape(1),
                "candidates, ids and distances must have one row per query, and k <= candidates");
            for (size_t i = 0; i < candidates.size(); ++i)
                expect(candidates.data()[i] < int64_t(points.shape(0)), "candidate out of range");
            nb::gil_scoped_release unlocked;
            rerank<T>(queries.data(), points.data(), int64_t(queries.shape(0)),
                      int64_t(queries.shape(1)), candidates.data(), int(candidates.shape(1)),
                      int(ids.shape(1)), cosine, n_threads, ids.data(), distances.data());
        },
        "queries"_a.noconvert(), "points"_a.noconvert(), "candidates"_a.noconvert(), "cosine"_a,
        "ids"_a.noconvert(), "distances"_a.noconvert(), "n_threads"_a);
    m.def(
        "symmetrize",
        [](In1<int64_t> indptr, In1<int32_t> indices, In1<T> data, const std::string& how,
           int n_threads) {
            const Graph<T> g = checked_graph<T>(indptr, indices, data);
            expect(how == "union" || how == "mutual" || how == "mean" || how == "half-sum",
                   "how must be union, mutual, mean or half-sum");
            const Symmetry mode = how == "union"    ? Symmetry::kUnion
                                  : how == "mutual" ? Symmetry::kMutual
                                  : how == "mean"   ? Symmetry::kMean
                                                    : Symmetry::kHalfSum;
            Csr<T> out;
            {
                nb::gil_scoped_release unlocked;
                out = symmetrize<T>(g.n, g.indptr, g.indices, g.weights, mode, n_threads);
            }
            return nb::make_tuple(to_numpy(std::move(out.indptr)), to_numpy(std::move(out.indices)),
                                  to_numpy(std::move(out.data)));
        },
        "indptr"_a.noconvert(), "indices"_a.noconvert(), "data"_a.noconvert(), "how"_a,
        "n_threads"_a);
    m.def(
        "shortest_paths",
        [](In1<int64_t> indptr, In1<int32_t> indices, In1<T> weights, In1<int32_t> sources,
           Out2<T> out, int n_threads) {
            const Graph<T> g = checked_graph<T>(indptr, indices, weights);
            for (size_t e = 0; e < weights.shape(0); ++e)
                expect(weights.data()[e] >= 0 && std::isfinite(weights.data()[e]),
                       "arc lengths must be finite and not negative");
            for (size_t s = 0; s < sources.shape(0); ++s)
                expect(sources.data()[s] >= 0 && sources.data()[s] < g.n, "source out of range");
            expect(out.shape(0) == sources.shape(0) && int64_t(out.shape(1)) == g.n,
                   "out must be (sources, n)");
            nb::gil_scoped_release unlocked;
            shortest_paths<T>(g, sources.data(), int64_t(sources.shape(0)), n_threads, out.data());
        },
        "indptr"_a.noconvert(), "indices"_a.noconvert(), "weights"_a.noconvert(),
        "sources"_a.noconvert(), "out"_a.noconvert(), "n_threads"_a);
    m.def(
        "floyd_warshall",
        [](Out2<T> lengths, int n_threads) {
            expect(lengths.shape(0) == lengths.shape(1), "lengths must be square");
            nb::gil_scoped_release unlocked;
            floyd_warshall<T>(lengths.data(), int64_t(lengths.shape(0)), n_threads);
        },
        "lengths"_a.noconvert(), "n_threads"_a);
    m.def(
        "barycentric_weights",
        [](In3<T> grams, double reg, Out2<T> weights, int n_threads) {
            expect(grams.shape(1) == grams.shape(2) && weights.shape(0) == grams.shape(0) &&
                       weights.shape(1) == grams.shape(1),
                   "grams must be (n, k, k) and weights (n, k)");
            nb::gil_scoped_release unlocked;
            barycentric_weights<T>(grams.data(), int64_t(grams.shape(0)), int(grams.shape(1)), reg,
                                   n_threads, weights.data());
        },
        "grams"_a.noconvert(), "reg"_a, "weights"_a.noconvert(), "n_threads"_a);
    m.def(
        "spmm",
        [](In1<int64_t> indptr, In1<int32_t> indices, In1<T> data, In2<T> x, Out2<T> y,
           int n_threads) {
            expect(indptr.shape(0) >= 1, "indptr must have at least one entry");
            const auto n = int64_t(indptr.shape(0)) - 1;
            expect(y.shape(0) == size_t(n) && x.shape(1) == y.shape(1), "x and y must match");
            expect(
                indices.shape(0) == size_t(indptr.data()[n]) && data.shape(0) == indices.shape(0),
                "indices and data must have indptr[-1] entries");
            int32_t least = 0, most = -1;  // a scan that vectorises, little beside the product
            for (size_t e = 0; e < indices.shape(0); ++e) {
                least = std::min(least, indices.data()[e]);
                most = std::max(most, indices.data()[e]);
            }
            expect(least >= 0 && most < int64_t(x.shape(0)), "indices must lie in [0, rows of x)");
            nb::gil_scoped_release unlocked;
            parallel_ranges(n, 2048, n_threads, [&](int64_t begin, int64_t end, int) {
                kernels<T>().spmm(indptr.data(), indices.data(), data.data(), x.data(), y.data(),
                                  begin, end, int(x.shape(1)));
            });
        },
        "indptr"_a.noconvert(), "indices"_a.noconvert(), "data"_a.noconvert(), "x"_a.noconvert(),
        "y"_a.noconvert(), "n_threads"_a);
    m.def(
        "narrow_matmul",
        [](In2<T> a, In2<T> x, Out2<T> y, bool squared, int n_threads) {
            expect(a.shape(1) == x.shape(1) && a.shape(0) == y.shape(0) && x.shape(0) == y.shape(1),
                   "a must be (n, m), x (width, m) and y (n, width)");
            const auto kernel = squared ? kernels<T>().squared_matmul : kernels<T>().matmul;
            nb::gil_scoped_release unlocked;
            parallel_ranges(int64_t(a.shape(0)), 64, n_threads,
                            [&](int64_t begin, int64_t end, int) {
                                kernel(a.data(), int64_t(a.shape(1)), x.data(), y.data(), begin,
                                       end, int(x.shape(0)));
                            });
        },
        "a"_a.noconvert(), "x"_a.noconvert(), "y"_a.noconvert(), "squared"_a, "n_threads"_a);
    m.def(
        "guttman",
        [](In2<T> dissimilarities, In2<T> transposed, Out2<T> out, int n_threads) {
            const auto n = int64_t(out.shape(0));
            expect(int64_t(dissimilarities.shape(0)) == n &&
                       int64_t(dissimilarities.shape(1)) == n &&
                       int64_t(transposed.shape(1)) == n && transposed.shape(0) == out.shape(1),
                   "dissimilarities must be (n, n), transposed (dim, n) and out (n, dim)");
            constexpr int64_t kChunk = 64;
            std::vector<double> stress(size_t((n + kChunk - 1) / kChunk), 0.0);
            nb::gil_scoped_release unlocked;
            parallel_ranges(n, kChunk, n_threads, [&](int64_t begin, int64_t end, int) {
                stress[size_t(begin / kChunk)] =
                    kernels<T>().guttman(dissimilarities.data(), transposed.data(), out.data(), n,
                                         int(out.shape(1)), begin, end);
            });
            double total = 0;
            for (double s : stress) total += s;
            return total / 2;
        },
        "dissimilarities"_a.noconvert(), "transposed"_a.noconvert(), "out"_a.noconvert(),
        "n_threads"_a);
}

}  // namespace

NB_MODULE(_native, m) {
    m.doc() = "The native core of lowdim; reached through lowdim.backends.native.";
    m.def("isa", [] { return std::string(isa_name()); });
    m.def(
        "level_structure",
        [](In1<int64_t> indptr, In1<int32_t> indices) {
            check_structure(indptr, indices);
            nb::gil_scoped_release unlocked;
            return level_structure(int64_t(indptr.shape(0)) - 1, indptr.data(), indices.data());
        },
        "indptr"_a.noconvert(), "indices"_a.noconvert());
    bind_for<float>(m);
    bind_for<double>(m);
}

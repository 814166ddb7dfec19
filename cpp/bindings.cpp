// The only file that knows Python: checks shapes, releases the interpreter lock, calls the core.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "lowdim/affinities.hpp"
#include "lowdim/cells.hpp"
#include "lowdim/convolution.hpp"
#include "lowdim/coranking.hpp"
#include "lowdim/curvilinear.hpp"
#include "lowdim/descent.hpp"
#include "lowdim/divergence.hpp"
#include "lowdim/forces.hpp"
#include "lowdim/fuzzy.hpp"
#include "lowdim/geodesics.hpp"
#include "lowdim/graph.hpp"
#include "lowdim/grid.hpp"
#include "lowdim/isotonic.hpp"
#include "lowdim/kernels.hpp"
#include "lowdim/layout.hpp"
#include "lowdim/neighbors.hpp"
#include "lowdim/parallel.hpp"
#include "lowdim/reconstruction.hpp"
#include "lowdim/sammon.hpp"
#include "lowdim/stress.hpp"
#include "lowdim/tree.hpp"

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
using Out1 = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Out2 = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using Out3 = nb::ndarray<T, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

void expect(bool condition, const char* what) {
    if (!condition) throw std::invalid_argument(what);
}

template <class T>
nb::object to_numpy(std::vector<T>&& values) {
    auto* owned = new std::vector<T>(std::move(values));
    nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(owned->data(), {owned->size()}, owner));
}

// The index arrays of a sparse matrix must be consistent, so that the core can trust them.
int64_t check_structure(const In1<int64_t>& indptr, const In1<int32_t>& indices,
                        int64_t n_columns) {
    expect(indptr.shape(0) >= 1, "indptr must have at least one entry");
    const auto n = int64_t(indptr.shape(0)) - 1;
    expect(indptr.data()[0] == 0, "indptr must start at 0");
    for (int64_t i = 0; i < n; ++i)
        expect(indptr.data()[i] <= indptr.data()[i + 1], "indptr must not decrease");
    expect(indices.shape(0) == size_t(indptr.data()[n]), "indices must have indptr[-1] entries");
    for (size_t e = 0; e < indices.shape(0); ++e)
        expect(indices.data()[e] >= 0 && indices.data()[e] < n_columns,
               "indices must lie in [0, n)");
    return n;
}

// Those of a graph: a square matrix.
int64_t check_structure(const In1<int64_t>& indptr, const In1<int32_t>& indices) {
    return check_structure(indptr, indices, int64_t(indptr.shape(0)) - 1);
}

template <class T>
int64_t check_rows(const In1<int64_t>& indptr, const In1<int32_t>& indices, const In1<T>& data,
                   int64_t n_columns) {
    expect(data.shape(0) == indices.shape(0), "indices and data must have indptr[-1] entries");
    return check_structure(indptr, indices, n_columns);
}

// Cells must cover the points and have the panels to hold them.
template <class Panels, class Norms>
int64_t check_cells(const In1<int64_t>& starts, const In1<int64_t>& first_panel,
                    const Panels& panels, const Norms& norms) {
    expect(starts.shape(0) >= 2 && starts.shape(0) == first_panel.shape(0),
           "starts and first_panel must have one entry per cell and one more");
    const auto n_cells = int64_t(starts.shape(0)) - 1;
    expect(starts.data()[0] == 0 && first_panel.data()[0] == 0, "starts must begin at 0");
    for (int64_t c = 0; c < n_cells; ++c) {
        const int64_t held =
            (first_panel.data()[c + 1] - first_panel.data()[c]) * int64_t(kPanelPoints<float>);
        const int64_t size = starts.data()[c + 1] - starts.data()[c];
        expect(size >= 0 && held >= size, "every cell must have the panels that hold it");
    }
    expect(panels.shape(2) == kPanelPoints<float> && norms.shape(1) == kPanelPoints<float> &&
               panels.shape(0) == norms.shape(0) &&
               int64_t(panels.shape(0)) == first_panel.data()[n_cells],
           "panels and norms must have first_panel[-1] panels");
    return n_cells;
}

template <class T>
Graph<T> checked_graph(const In1<int64_t>& indptr, const In1<int32_t>& indices,
                       const In1<T>& data) {
    const int64_t n = check_structure(indptr, indices);
    expect(data.shape(0) == indices.shape(0), "indices and data must have indptr[-1] entries");
    return {n, indptr.data(), indices.data(), data.data()};
}

Similarity similarity_of(const std::string& name, double dof) {
    expect(dof > 0, "dof must be positive");
    if (name == "gaussian") return {Likeness::kGaussian, dof};
    expect(name == "student", "the similarity must be 'gaussian' or 'student'");
    return {dof == 1 ? Likeness::kCauchy : Likeness::kStudent, dof};
}

// The edges of a graph, checked once and then pulled at in every iteration.
template <class T>
struct Edges {
    Csr<T> csr;

    Edges(In1<int64_t> indptr, In1<int32_t> indices, In1<T> p) {
        checked_graph(indptr, indices, p);
        csr.indptr.assign(indptr.data(), indptr.data() + indptr.shape(0));
        csr.indices.assign(indices.data(), indices.data() + indices.shape(0));
        csr.data.assign(p.data(), p.data() + p.shape(0));
    }
    int64_t n() const { return int64_t(csr.indptr.size()) - 1; }
    double attraction(const In2<T>& y, const Similarity& kernel, bool loss, int n_threads,
                      const Out2<T>& force) const {
        expect(int64_t(y.shape(0)) == n() && force.shape(0) == y.shape(0) &&
                   force.shape(1) == y.shape(1),
               "y and force must be (n, dim)");
        nb::gil_scoped_release unlocked;
        return lowdim::attraction<T>(csr.indptr.data(), csr.indices.data(), csr.data.data(),
                                     y.data(), n(), int(y.shape(1)), kernel, loss, n_threads,
                                     force.data());
    }
    void renumber(const In1<int32_t>& order, int n_threads) {
        expect(int64_t(order.shape(0)) == n(), "order must name every vertex");
        std::vector<char> seen(order.shape(0), 0);
        for (size_t i = 0; i < order.shape(0); ++i) {
            const int32_t v = order.data()[i];
            expect(v >= 0 && v < n() && !seen[size_t(v)], "order must name every vertex once");
            seen[size_t(v)] = 1;
        }
        nb::gil_scoped_release unlocked;
        csr = renumbered(csr, order.data(), n_threads);
    }
};

// The grid under a field: n nodes on its one axis, or (rows, stride) of which `columns` count.
template <class T>
Grid grid_of(const Out2<T>& field, int dim, int64_t columns, const In1<double>& origin,
             double step) {
    const auto rows = int64_t(field.shape(0));
    expect((dim == 1 && field.shape(1) == 1) || dim == 2, "a grid has one or two axes");
    expect(rows >= 2 * kTouch && (dim == 1 || columns >= 2 * kTouch), "the grid is too small");
    expect(columns <= int64_t(field.shape(1)), "columns must be at most those of the field");
    expect(int(origin.shape(0)) == dim && step > 0, "origin must have one entry per axis");
    const auto stride = int64_t(field.shape(1));
    return {dim, rows, columns, stride, {origin.data()[0], dim > 1 ? origin.data()[1] : 0.0}, step};
}

template <class T>
void expect_finite(const In2<T>& y) {
    bool finite = true;
    for (size_t k = 0; k < y.size(); ++k) finite &= std::isfinite(y.data()[k]);
    expect(finite, "coordinates must be finite");
}

Mixture mixture_of(const In2<double>& precisions, double trade_off) {
    const size_t scales = precisions.shape(1);
    expect(scales >= 1 && scales <= size_t(kMostScales), "there must be one to 48 scales");
    for (size_t k = 0; k < precisions.size(); ++k) {
        const double value = precisions.data()[k];
        const double before = k % scales > 0 ? precisions.data()[k - 1] : 0.0;
        expect(value >= before, "precisions must be positive and ascend");
    }
    return {int(scales), trade_off};
}

// The objects of listed pairs must exist; scans that vectorise, little beside what follows them.
void check_pairs(const In1<int32_t>& first, const In1<int32_t>& second, int64_t n) {
    expect(first.shape(0) == second.shape(0), "first and second must have one entry per pair");
    int32_t least = 0, most = -1;
    for (size_t e = 0; e < first.shape(0); ++e) {
        least = std::min({least, first.data()[e], second.data()[e]});
        most = std::max({most, first.data()[e], second.data()[e]});
    }
    expect(least >= 0 && most < n, "first and second must lie in [0, n)");
}

// Groups of vertices with their arcs; scans that vectorise, little beside what follows them.
template <class T>
Abreast<T> checked_abreast(const In1<int32_t>& members, const In1<int64_t>& starts,
                           const In1<int32_t>& targets, const In1<T>& weights, int64_t n,
                           int64_t n_targets) {
    const auto n_groups = int64_t(starts.shape(0)) - 1;
    expect(n_groups >= 0 && int64_t(members.shape(0)) == n_groups * kAbreast,
           "members must have as many groups as starts");
    expect(starts.data()[0] == 0, "starts must begin at 0");
    for (int64_t g = 0; g < n_groups; ++g)
        expect(starts.data()[g] <= starts.data()[g + 1], "starts must not decrease");
    const int64_t size = starts.data()[n_groups] * kAbreast;
    expect(int64_t(targets.shape(0)) == size && int64_t(weights.shape(0)) == size,
           "targets and weights must have one entry per arc");
    const auto inside = [](const In1<int32_t>& ids, int32_t least, int64_t end) {
        int32_t low = 0, high = -1;
        for (size_t e = 0; e < ids.shape(0); ++e) {
            low = std::min(low, ids.data()[e]);
            high = std::max(high, ids.data()[e]);
        }
        return low >= least && high < end;
    };
    expect(inside(members, -1, n) && inside(targets, 0, n_targets),
           "members and targets must lie in [0, n)");
    return {members.data(), starts.data(), targets.data(), weights.data()};
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
        "rerank_sparse",
        [](In1<int64_t> query_indptr, In1<int32_t> query_indices, In1<T> query_data,
           In1<int64_t> point_indptr, In1<int32_t> point_indices, In1<T> point_data, int64_t dim,
           In2<int32_t> candidates, bool cosine, Out2<int32_t> ids, Out2<T> distances,
           int n_threads) {
            const int64_t n_queries = check_rows(query_indptr, query_indices, query_data, dim);
            const int64_t n_points = check_rows(point_indptr, point_indices, point_data, dim);
            expect(
                int64_t(candidates.shape(0)) == n_queries && int64_t(ids.shape(0)) == n_queries &&
                    int64_t(distances.shape(0)) == n_queries &&
                    ids.shape(1) == distances.shape(1) && ids.shape(1) <= candidates.shape(1),
                "candidates, ids and distances must have one row per query, and k <= candidates");
            for (size_t i = 0; i < candidates.size(); ++i)
                expect(candidates.data()[i] < n_points, "candidate out of range");
            const SparseRows<T> queries{query_indptr.data(), query_indices.data(),
                                        query_data.data()};
            const SparseRows<T> points{point_indptr.data(), point_indices.data(),
                                       point_data.data()};
            nb::gil_scoped_release unlocked;
            rerank_sparse<T>(queries, points, n_queries, dim, candidates.data(),
                             int(candidates.shape(1)), int(ids.shape(1)), cosine, n_threads,
                             ids.data(), distances.data());
        },
        "query_indptr"_a.noconvert(), "query_indices"_a.noconvert(), "query_data"_a.noconvert(),
        "point_indptr"_a.noconvert(), "point_indices"_a.noconvert(), "point_data"_a.noconvert(),
        "dim"_a, "candidates"_a.noconvert(), "cosine"_a, "ids"_a.noconvert(),
        "distances"_a.noconvert(), "n_threads"_a);
    m.def(
        "project_rows",
        [](In2<T> x, In1<T> center, T scale, In3<float> axes, Out2<float> out, Out1<float> squares,
           int n_threads) {
            expect(center.shape(0) == x.shape(1) && axes.shape(1) == x.shape(1),
                   "x, center and axes must have equal width");
            expect(axes.shape(2) == kPanelPoints<float> &&
                       axes.shape(0) * kPanelPoints<float> >= out.shape(1),
                   "axes must come as panels that hold the columns of out");
            expect(out.shape(0) == x.shape(0) && squares.shape(0) == x.shape(0),
                   "out and squares must have one row per row of x");
            nb::gil_scoped_release unlocked;
            project_rows<T>(x.data(), int64_t(x.shape(0)), int64_t(x.shape(1)), center.data(),
                            scale, axes.data(), int64_t(out.shape(1)), n_threads, out.data(),
                            squares.data());
        },
        "x"_a.noconvert(), "center"_a.noconvert(), "scale"_a, "axes"_a.noconvert(),
        "out"_a.noconvert(), "squares"_a.noconvert(), "n_threads"_a);
    m.def(
        "squared_distances",
        [](In2<T> queries, In2<T> points, Out2<T> out, int n_threads) {
            expect(queries.shape(1) == points.shape(1), "queries and points must have equal width");
            expect(out.shape(0) == queries.shape(0) && out.shape(1) == points.shape(0),
                   "out must be (queries, points)");
            nb::gil_scoped_release unlocked;
            squared_distances<T>(queries.data(), int64_t(queries.shape(0)), points.data(),
                                 int64_t(points.shape(0)), int64_t(points.shape(1)), n_threads,
                                 out.data());
        },
        "queries"_a.noconvert(), "points"_a.noconvert(), "out"_a.noconvert(), "n_threads"_a);
    m.def(
        "compare_orders",
        [](In2<T> first, In2<T> second, In1<int32_t> own, In1<int32_t> grid,
           Out2<int32_t> first_ids, Out2<int32_t> first_ranks, Out2<int32_t> second_ids,
           Out2<int32_t> second_ranks, Out2<int32_t> shared, int n_threads) {
            const auto rows = first.shape(0), n = first.shape(1), k = first_ids.shape(1);
            expect(second.shape(0) == rows && second.shape(1) == n && own.shape(0) == rows,
                   "first and second must be (rows, n), and own has one entry per row");
            for (const auto* ids : {&first_ids, &first_ranks, &second_ids, &second_ranks})
                expect(ids->shape(0) == rows && ids->shape(1) == k, "ids must be (rows, k)");
            expect(k < n && shared.shape(0) == rows && shared.shape(1) == grid.shape(0),
                   "k must be less than n, and shared (rows, grid)");
            for (size_t r = 0; r < rows; ++r)
                expect(own.data()[r] >= 0 && size_t(own.data()[r]) < n, "own must lie in [0, n)");
            for (size_t g = 1; g < grid.shape(0); ++g)
                expect(grid.data()[g - 1] < grid.data()[g], "grid must ascend");
            const Compared out{int(k),
                               first_ids.data(),
                               first_ranks.data(),
                               second_ids.data(),
                               second_ranks.data(),
                               int(grid.shape(0)),
                               grid.data(),
                               shared.data()};
            nb::gil_scoped_release unlocked;
            compare_orders<T>(first.data(), second.data(), int64_t(rows), int64_t(n), own.data(),
                              out, n_threads);
        },
        "first"_a.noconvert(), "second"_a.noconvert(), "own"_a.noconvert(), "grid"_a.noconvert(),
        "first_ids"_a.noconvert(), "first_ranks"_a.noconvert(), "second_ids"_a.noconvert(),
        "second_ranks"_a.noconvert(), "shared"_a.noconvert(), "n_threads"_a);
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
        "curvilinear_sweep",
        [](In2<T> distances, In1<int32_t> rows, In1<int32_t> pins, Out2<double> y, double unit,
           double alpha, double reach, bool step, int n_threads) {
            const auto n = int64_t(y.shape(1));
            expect(int64_t(distances.shape(1)) == n && rows.shape(0) == pins.shape(0),
                   "distances must be (rows, n), y (dim, n), and each pin needs a row");
            for (size_t p = 0; p < pins.shape(0); ++p)
                expect(pins.data()[p] >= 0 && pins.data()[p] < n && rows.data()[p] >= 0 &&
                           rows.data()[p] < int64_t(distances.shape(0)),
                       "pins must lie in [0, n) and rows in [0, rows of distances)");
            const Pins<T> all{int64_t(pins.shape(0)), pins.data(), rows.data(), distances.data()};
            nb::gil_scoped_release unlocked;
            return curvilinear_sweep<T>(all, {unit, alpha, reach, step}, y.data(), n,
                                        int(y.shape(0)), n_threads);
        },
        "distances"_a.noconvert(), "rows"_a.noconvert(), "pins"_a.noconvert(), "y"_a.noconvert(),
        "unit"_a, "alpha"_a, "reach"_a, "step"_a, "n_threads"_a);
    m.def(
        "stress_gradient",
        [](In2<T> dissimilarities, In2<T> x, Out2<T> gradient, int n_threads) {
            const auto n = int64_t(x.shape(0));
            expect(int64_t(dissimilarities.shape(0)) == n &&
                       int64_t(dissimilarities.shape(1)) == n && int64_t(gradient.shape(0)) == n &&
                       gradient.shape(1) == x.shape(1),
                   "dissimilarities must be (n, n), x and gradient (n, dim)");
            nb::gil_scoped_release unlocked;
            return stress_gradient<T>(dissimilarities.data(), x.data(), n, int(x.shape(1)),
                                      n_threads, gradient.data());
        },
        "dissimilarities"_a.noconvert(), "x"_a.noconvert(), "gradient"_a.noconvert(),
        "n_threads"_a);
    m.def(
        "pair_distances",
        [](In1<int32_t> first, In1<int32_t> second, In2<T> x, Out1<T> distances, int n_threads) {
            check_pairs(first, second, int64_t(x.shape(0)));
            expect(distances.shape(0) == first.shape(0), "distances must have one entry per pair");
            nb::gil_scoped_release unlocked;
            parallel_ranges(
                int64_t(first.shape(0)), 16384, n_threads, [&](int64_t begin, int64_t end, int) {
                    kernels<T>().pair_distances(first.data(), second.data(), x.data(),
                                                int(x.shape(1)), begin, end, distances.data());
                });
        },
        "first"_a.noconvert(), "second"_a.noconvert(), "x"_a.noconvert(), "distances"_a.noconvert(),
        "n_threads"_a);
    m.def(
        "pair_gradient",
        [](In1<int32_t> first, In1<int32_t> second, In1<T> distances, In1<T> targets,
           In1<T> weights, In2<T> x, Out2<T> gradient, int n_threads) {
            check_pairs(first, second, int64_t(x.shape(0)));
            const size_t count = first.shape(0);
            expect(distances.shape(0) == count && targets.shape(0) == count &&
                       (weights.shape(0) == count || weights.shape(0) == 0),
                   "distances, targets and weights must have one entry per pair");
            expect(gradient.shape(0) == x.shape(0) && gradient.shape(1) == x.shape(1),
                   "x and gradient must be (n, dim)");
            nb::gil_scoped_release unlocked;
            return pair_gradient<T>(first.data(), second.data(), distances.data(), targets.data(),
                                    weights.shape(0) > 0 ? weights.data() : nullptr, int64_t(count),
                                    x.data(), int64_t(x.shape(0)), int(x.shape(1)), n_threads,
                                    gradient.data());
        },
        "first"_a.noconvert(), "second"_a.noconvert(), "distances"_a.noconvert(),
        "targets"_a.noconvert(), "weights"_a.noconvert(), "x"_a.noconvert(),
        "gradient"_a.noconvert(), "n_threads"_a);
    m.def(
        "meet_in_tiles",
        [](In1<int32_t> order, In3<T> targets, In3<T> weights, double rate, Out2<T> x,
           int n_threads) {
            const auto tiles = int64_t(targets.shape(0)), side = int64_t(targets.shape(1));
            expect(
                int64_t(targets.shape(2)) == side && int64_t(order.shape(0)) >= 2 * side * tiles &&
                    (weights.shape(0) == 0 ||
                     (int64_t(weights.shape(0)) == tiles && int64_t(weights.shape(1)) == side &&
                      int64_t(weights.shape(2)) == side)),
                "targets and weights must be (tiles, side, side), order of 2 side tiles objects");
            std::vector<bool> seen(x.shape(0), false);
            for (size_t k = 0; k < order.shape(0); ++k) {
                const int32_t i = order.data()[k];
                expect(i >= 0 && size_t(i) < x.shape(0) && !seen[size_t(i)],
                       "order must name objects of x, each once");
                seen[size_t(i)] = true;
            }
            nb::gil_scoped_release unlocked;
            return meet_in_tiles<T>(order.data(), tiles, side, targets.data(),
                                    weights.shape(0) > 0 ? weights.data() : nullptr, rate,
                                    int(x.shape(1)), n_threads, x.data());
        },
        "order"_a.noconvert(), "targets"_a.noconvert(), "weights"_a.noconvert(), "rate"_a,
        "x"_a.noconvert(), "n_threads"_a);
    m.def(
        "sammon_gradient",
        [](In2<T> dissimilarities, In2<double> transposed, In1<double> mass, Out2<double> gradient,
           double floor, double epsilon, int n_threads) {
            const size_t n = mass.shape(0);
            expect(dissimilarities.shape(0) == n && dissimilarities.shape(1) == n &&
                       transposed.shape(1) == n && gradient.shape(0) == n &&
                       gradient.shape(1) == transposed.shape(0),
                   "dissimilarities must be (n, n), transposed (dim, n) and gradient (n, dim)");
            nb::gil_scoped_release unlocked;
            return sammon_gradient<T>(dissimilarities.data(), transposed.data(), mass.data(),
                                      int64_t(n), int(transposed.shape(0)), floor, epsilon,
                                      n_threads, gradient.data());
        },
        "dissimilarities"_a.noconvert(), "transposed"_a.noconvert(), "mass"_a.noconvert(),
        "gradient"_a.noconvert(), "floor"_a, "epsilon"_a, "n_threads"_a);
    m.def(
        "place_points",
        [](In2<T> targets, In2<T> weights, In2<T> transposed, Out2<T> y, int max_iter, double tol,
           int n_threads) {
            expect(targets.shape(0) == y.shape(0) && weights.shape(0) == y.shape(0) &&
                       targets.shape(1) == transposed.shape(1) &&
                       weights.shape(1) == transposed.shape(1) && transposed.shape(0) == y.shape(1),
                   "targets and weights must be (new, n), transposed (dim, n) and y (new, dim)");
            nb::gil_scoped_release unlocked;
            place_points<T>(targets.data(), weights.data(), int64_t(y.shape(0)), transposed.data(),
                            int64_t(transposed.shape(1)), int(y.shape(1)), max_iter, tol, n_threads,
                            y.data());
        },
        "targets"_a.noconvert(), "weights"_a.noconvert(), "transposed"_a.noconvert(),
        "y"_a.noconvert(), "max_iter"_a, "tol"_a, "n_threads"_a);
    m.def(
        "isotonic",
        [](In1<T> values, In1<T> weights, In1<int64_t> starts, bool primary, Out1<T> out,
           int n_threads) {
            const auto n = int64_t(values.shape(0));
            expect(out.shape(0) == values.shape(0) &&
                       (weights.shape(0) == values.shape(0) || weights.shape(0) == 0),
                   "weights and out must have one entry per value");
            const T* own = weights.shape(0) > 0 ? weights.data() : nullptr;
            const auto ties = int64_t(starts.shape(0)) - 1;
            if (ties >= 0) {
                expect(starts.data()[0] == 0 && starts.data()[ties] == n,
                       "starts must go from 0 to the number of values");
                for (int64_t b = 0; b < ties; ++b)
                    expect(starts.data()[b] <= starts.data()[b + 1], "starts must not decrease");
            }
            nb::gil_scoped_release unlocked;
            if (ties < 0)
                isotonic<T>(values.data(), own, n, n_threads, out.data());
            else
                isotonic_with_ties<T>(values.data(), own, n, starts.data(), ties, primary,
                                      n_threads, out.data());
        },
        "values"_a.noconvert(), "weights"_a.noconvert(), "starts"_a.noconvert(), "primary"_a,
        "out"_a.noconvert(), "n_threads"_a);
    m.def(
        "memberships",
        [](In1<int64_t> indptr, In1<T> distances, double target, double connectivity, Out1<T> rho,
           Out1<T> sigma, Out1<T> out, int n_threads) {
            const auto n = int64_t(indptr.shape(0)) - 1;
            expect(n >= 0 && indptr.data()[0] == 0, "indptr must start at 0");
            for (int64_t i = 0; i < n; ++i)
                expect(indptr.data()[i] <= indptr.data()[i + 1], "indptr must not decrease");
            expect(int64_t(distances.shape(0)) == indptr.data()[n] &&
                       out.shape(0) == distances.shape(0) && int64_t(rho.shape(0)) == n &&
                       int64_t(sigma.shape(0)) == n,
                   "distances and out must have one entry per arc, rho and sigma one per row");
            expect(connectivity >= 0, "connectivity must not be negative");
            nb::gil_scoped_release unlocked;
            memberships<T>(n, indptr.data(), distances.data(), target, connectivity, n_threads,
                           rho.data(), sigma.data(), out.data());
        },
        "indptr"_a.noconvert(), "distances"_a.noconvert(), "target"_a, "connectivity"_a,
        "rho"_a.noconvert(), "sigma"_a.noconvert(), "out"_a.noconvert(), "n_threads"_a);
    m.def(
        "fuzzy_union",
        [](In1<int64_t> indptr, In1<int32_t> indices, In1<T> data, double mix, int n_threads) {
            const Graph<T> graph = checked_graph<T>(indptr, indices, data);
            Csr<T> out;
            {
                nb::gil_scoped_release unlocked;
                out = fuzzy_union<T>(graph.n, indptr.data(), indices.data(), data.data(), T(mix),
                                     n_threads);
            }
            return nb::make_tuple(to_numpy(std::move(out.indptr)), to_numpy(std::move(out.indices)),
                                  to_numpy(std::move(out.data)));
        },
        "indptr"_a.noconvert(), "indices"_a.noconvert(), "data"_a.noconvert(), "mix"_a,
        "n_threads"_a);
    m.def(
        "abreast",
        [](In1<int64_t> indptr, In1<int32_t> indices, In1<T> data, In1<int32_t> rank,
           int64_t n_targets) {
            const auto n = int64_t(rank.shape(0));
            expect(int64_t(indptr.shape(0)) == n + 1, "rank must have one entry per vertex");
            check_structure(indptr, indices, n_targets < 0 ? n : n_targets);
            expect(data.shape(0) == indices.shape(0), "data must have one entry per arc");
            std::vector<char> seen(size_t(n), 0);
            for (int64_t i = 0; i < n; ++i) {
                const int32_t r = rank.data()[i];
                expect(r >= 0 && r < n && !seen[size_t(r)], "rank must be a permutation");
                seen[size_t(r)] = 1;
            }
            OwnedAbreast<T> out;
            {
                nb::gil_scoped_release unlocked;
                out = abreast<T>(n, indptr.data(), indices.data(), data.data(), rank.data(),
                                 n_targets < 0);
            }
            return nb::make_tuple(to_numpy(std::move(out.members)), to_numpy(std::move(out.starts)),
                                  to_numpy(std::move(out.targets)),
                                  to_numpy(std::move(out.weights)));
        },
        "indptr"_a.noconvert(), "indices"_a.noconvert(), "data"_a.noconvert(), "rank"_a.noconvert(),
        "n_targets"_a);
    m.def(
        "layout_epochs",
        [](In1<int32_t> members, In1<int64_t> starts, In1<int32_t> targets, In1<T> weights,
           Out2<T> y, Out2<T> velocity, In2<T> fixed, nb::tuple curve, nb::tuple rates, int draws,
           nb::tuple epochs, uint32_t seed, In1<T> by_radius, In1<T> by_mass, bool loss,
           int n_threads) {
            const auto n = int64_t(y.shape(0)), dim = int64_t(y.shape(1));
            const bool among = fixed.shape(0) == 0, dense = by_radius.shape(0) > 0;
            const int64_t n_fixed = among ? n : int64_t(fixed.shape(0));
            const Abreast<T> graph =
                checked_abreast<T>(members, starts, targets, weights, n, n_fixed);
            expect(velocity.shape(0) == y.shape(0) && velocity.shape(1) == y.shape(1),
                   "velocity must have the shape of y");
            expect(among || int64_t(fixed.shape(1)) == dim, "fixed must have the columns of y");
            expect(!dense || (among && int64_t(by_radius.shape(0)) == n &&
                              int64_t(by_mass.shape(0)) == n),
                   "by_radius and by_mass must have one entry per vertex");
            expect(draws >= 0 && dim >= 1, "draws must not be negative");
            expect(n_fixed * dim <= INT32_MAX, "the map must have fewer than 2^31 coordinates");
            LayoutStep<T> step{};
            step.a = nb::cast<double>(curve[0]);
            step.b = nb::cast<double>(curve[1]);
            step.repulsion = nb::cast<double>(rates[2]);
            step.fixed = among ? nullptr : fixed.data();
            step.n_fixed = n_fixed;
            step.draws = draws;
            step.stride = among ? 0x9e3779b1u : 0u;
            step.by_radius = dense ? by_radius.data() : nullptr;
            step.by_mass = dense ? by_mass.data() : nullptr;
            const LayoutRun run{nb::cast<int64_t>(epochs[0]), nb::cast<int64_t>(epochs[1]),
                                nb::cast<int64_t>(epochs[2]), nb::cast<double>(rates[0]),
                                nb::cast<double>(rates[1]),   seed};
            nb::gil_scoped_release unlocked;
            return layout_epochs<T>(graph, int64_t(starts.shape(0)) - 1, step, run, y.data(),
                                    velocity.data(), n, int(dim), loss, n_threads);
        },
        "members"_a.noconvert(), "starts"_a.noconvert(), "targets"_a.noconvert(),
        "weights"_a.noconvert(), "y"_a.noconvert(), "velocity"_a.noconvert(), "fixed"_a.noconvert(),
        "curve"_a, "rates"_a, "draws"_a, "epochs"_a, "seed"_a, "by_radius"_a.noconvert(),
        "by_mass"_a.noconvert(), "loss"_a, "n_threads"_a);
    m.def(
        "layout_radii",
        [](In1<int32_t> members, In1<int64_t> starts, In1<int32_t> targets, In1<T> weights,
           In2<T> y, double a, double b, Out1<T> mass, Out1<T> spread, int n_threads) {
            const auto n = int64_t(y.shape(0));
            const Abreast<T> graph = checked_abreast<T>(members, starts, targets, weights, n, n);
            expect(int64_t(mass.shape(0)) == n && int64_t(spread.shape(0)) == n,
                   "mass and spread must have one entry per vertex");
            nb::gil_scoped_release unlocked;
            parallel_ranges(int64_t(starts.shape(0)) - 1, kLayoutChunk, n_threads,
                            [&](int64_t begin, int64_t end, int) {
                                kernels<T>().layout_radii(graph, y.data(), a, b, int(y.shape(1)),
                                                          begin, end, mass.data(), spread.data());
                            });
        },
        "members"_a.noconvert(), "starts"_a.noconvert(), "targets"_a.noconvert(),
        "weights"_a.noconvert(), "y"_a.noconvert(), "a"_a, "b"_a, "mass"_a.noconvert(),
        "spread"_a.noconvert(), "n_threads"_a);
    m.def(
        "perplexity_affinities",
        [](In1<int64_t> indptr, In1<T> squared, double perplexity, Out1<T> p, Out1<double> beta,
           int n_threads) {
            const auto n = int64_t(beta.shape(0));
            expect(int64_t(indptr.shape(0)) == n + 1 && indptr.data()[0] == 0 &&
                       indptr.data()[n] == int64_t(squared.shape(0)) &&
                       squared.shape(0) == p.shape(0),
                   "squared and p must have indptr[-1] entries, beta one per row");
            for (int64_t i = 0; i < n; ++i)
                expect(indptr.data()[i] <= indptr.data()[i + 1], "indptr must not decrease");
            nb::gil_scoped_release unlocked;
            perplexity_affinities<T>(indptr.data(), n, squared.data(), perplexity, n_threads,
                                     p.data(), beta.data());
        },
        "indptr"_a.noconvert(), "squared"_a.noconvert(), "perplexity"_a, "p"_a.noconvert(),
        "beta"_a.noconvert(), "n_threads"_a);
    m.def(
        "repulsion",
        [](In2<T> y, In2<T> transposed, In1<T> mass, const std::string& similarity, double dof,
           Out2<T> force, Out1<T> z, int n_threads) {
            expect(transposed.shape(0) == y.shape(1) && force.shape(0) == y.shape(0) &&
                       force.shape(1) == y.shape(1) && z.shape(0) == y.shape(0) &&
                       (mass.shape(0) == 0 || mass.shape(0) == transposed.shape(1)),
                   "y and force must be (n, dim), transposed (dim, m), z of n and mass of m");
            const Similarity kernel = similarity_of(similarity, dof);
            nb::gil_scoped_release unlocked;
            repulsion<T>(y.data(), int64_t(y.shape(0)), transposed.data(),
                         mass.shape(0) > 0 ? mass.data() : nullptr, int64_t(transposed.shape(1)),
                         int(y.shape(1)), kernel, n_threads, force.data(), z.data());
        },
        "y"_a.noconvert(), "transposed"_a.noconvert(), "mass"_a.noconvert(), "similarity"_a,
        "dof"_a, "force"_a.noconvert(), "z"_a.noconvert(), "n_threads"_a);
    m.def(
        "tree_repulsion",
        [](In2<T> y, In1<T> mass, const std::string& similarity, double dof, double angle,
           Out2<T> force, Out1<T> z, int n_threads) {
            expect(y.shape(1) >= 1 && y.shape(1) <= 3, "a tree has one to three dimensions");
            expect(force.shape(0) == y.shape(0) && force.shape(1) == y.shape(1) &&
                       z.shape(0) == y.shape(0) &&
                       (mass.shape(0) == 0 || mass.shape(0) == y.shape(0)),
                   "y and force must be (n, dim), z and mass of n");
            expect_finite(y);
            const Similarity kernel = similarity_of(similarity, dof);
            nb::gil_scoped_release unlocked;
            Tree<T>(y.data(), mass.shape(0) > 0 ? mass.data() : nullptr, int64_t(y.shape(0)),
                    int(y.shape(1)))
                .repel(kernel, angle, n_threads, force.data(), z.data());
        },
        "y"_a.noconvert(), "mass"_a.noconvert(), "similarity"_a, "dof"_a, "angle"_a,
        "force"_a.noconvert(), "z"_a.noconvert(), "n_threads"_a);
    m.def(
        "spread",
        [](In2<T> y, In1<T> charge, In1<double> origin, double step, int64_t columns, Out2<T> field,
           int n_threads) {
            const Grid grid = grid_of<T>(field, int(y.shape(1)), columns, origin, step);
            expect(charge.shape(0) == 0 || charge.shape(0) == y.shape(0),
                   "charge must have one entry per point");
            expect_finite(y);
            nb::gil_scoped_release unlocked;
            spread<T>(y.data(), charge.shape(0) > 0 ? charge.data() : nullptr, int64_t(y.shape(0)),
                      grid, n_threads, field.data());
        },
        "y"_a.noconvert(), "charge"_a.noconvert(), "origin"_a.noconvert(), "step"_a, "columns"_a,
        "field"_a.noconvert(), "n_threads"_a);
    m.def(
        "gather",
        [](Out2<T> field, In1<double> origin, double step, int64_t columns, In2<T> y, Out1<T> value,
           Out2<T> gradient, int n_threads) {
            const Grid grid = grid_of<T>(field, int(y.shape(1)), columns, origin, step);
            expect(value.shape(0) == y.shape(0) && gradient.shape(0) == y.shape(0) &&
                       gradient.shape(1) == y.shape(1),
                   "y and gradient must be (n, dim), value of n");
            expect_finite(y);
            nb::gil_scoped_release unlocked;
            gather<T>(field.data(), grid, y.data(), int64_t(y.shape(0)), n_threads, value.data(),
                      gradient.data());
        },
        "field"_a.noconvert(), "origin"_a.noconvert(), "step"_a, "columns"_a, "y"_a.noconvert(),
        "value"_a.noconvert(), "gradient"_a.noconvert(), "n_threads"_a);
    m.def(
        "divergence_gradient",
        [](In2<T> costs, In2<double> precisions, double trade_off, In2<double> transposed,
           Out2<double> gradient, int n_threads) {
            const size_t n = gradient.shape(0);
            expect(n >= 2 && costs.shape(0) == n && costs.shape(1) == n - 1 &&
                       precisions.shape(0) == n && transposed.shape(1) == n &&
                       transposed.shape(0) == gradient.shape(1),
                   "costs must be (n, n - 1), precisions (n, scales), transposed (dim, n) and "
                   "gradient (n, dim)");
            const Mixture mixture = mixture_of(precisions, trade_off);
            std::pair<double, double> found;
            {
                nb::gil_scoped_release unlocked;
                double sums[2];
                divergence_gradient<T>(costs.data(), precisions.data(), transposed.data(),
                                       int64_t(n), int(transposed.shape(0)), mixture, n_threads,
                                       gradient.data(), sums);
                found = {sums[0], sums[1]};
            }
            return found;
        },
        "costs"_a.noconvert(), "precisions"_a.noconvert(), "trade_off"_a,
        "transposed"_a.noconvert(), "gradient"_a.noconvert(), "n_threads"_a);
    m.def(
        "place_by_divergence",
        [](In2<T> costs, In2<double> precisions, double trade_off, In2<double> transposed,
           In3<double> starts, Out2<double> y, int max_iter, double tol, int n_threads) {
            expect(costs.shape(0) == y.shape(0) && precisions.shape(0) == y.shape(0) &&
                       starts.shape(0) == y.shape(0) && starts.shape(1) >= 1 &&
                       costs.shape(1) == transposed.shape(1) && costs.shape(1) >= 1 &&
                       transposed.shape(0) == y.shape(1) && starts.shape(2) == y.shape(1),
                   "costs must be (new, n), precisions (new, scales), transposed (dim, n), starts "
                   "(new, starts, dim) and y (new, dim)");
            const Mixture mixture = mixture_of(precisions, trade_off);
            nb::gil_scoped_release unlocked;
            place_by_divergence<T>(costs.data(), precisions.data(), int64_t(y.shape(0)),
                                   transposed.data(), int64_t(costs.shape(1)), int(y.shape(1)),
                                   mixture, starts.data(), int64_t(starts.shape(1)), max_iter, tol,
                                   n_threads, y.data());
        },
        "costs"_a.noconvert(), "precisions"_a.noconvert(), "trade_off"_a,
        "transposed"_a.noconvert(), "starts"_a.noconvert(), "y"_a.noconvert(), "max_iter"_a,
        "tol"_a, "n_threads"_a);
    m.def(
        "bounds",
        [](In2<T> y, Out1<double> low, Out1<double> high) {
            const size_t n = y.shape(0), dim = y.shape(1);
            expect(low.shape(0) == dim && high.shape(0) == dim && n > 0,
                   "low and high must have one entry per column");
            for (size_t c = 0; c < dim; ++c) low.data()[c] = high.data()[c] = double(y.data()[c]);
            for (size_t i = 0; i < n; ++i)
                for (size_t c = 0; c < dim; ++c) {
                    const auto v = double(y.data()[i * dim + c]);
                    low.data()[c] = v < low.data()[c] ? v : low.data()[c];
                    high.data()[c] = v > high.data()[c] ? v : high.data()[c];
                }
        },
        "y"_a.noconvert(), "low"_a.noconvert(), "high"_a.noconvert());
    m.def(
        "curve_order",
        [](In2<T> y) {
            expect(y.shape(1) >= 1 && y.shape(1) <= 3, "the curve fills up to three dimensions");
            expect_finite(y);
            std::vector<int32_t> order;
            {
                nb::gil_scoped_release unlocked;
                order = curve_order<T>(y.data(), int64_t(y.shape(0)), int(y.shape(1))).order;
            }
            return to_numpy(std::move(order));
        },
        "y"_a.noconvert());
    m.def(
        "momentum_step",
        [](In2<T> gradient, Out2<T> y, Out2<T> velocity, Out2<T> gains, double rate,
           double momentum, double least_gain, double longest, int n_threads) {
            const size_t size = gradient.size();
            expect(y.size() == size && velocity.size() == size && gains.size() == size &&
                       y.shape(1) == gradient.shape(1),
                   "gradient, y, velocity and gains must be (n, dim)");
            nb::gil_scoped_release unlocked;
            return momentum_step<T>(gradient.data(), int64_t(gradient.shape(0)),
                                    int(gradient.shape(1)), {rate, momentum, least_gain, longest},
                                    n_threads, y.data(), velocity.data(), gains.data());
        },
        "gradient"_a.noconvert(), "y"_a.noconvert(), "velocity"_a.noconvert(),
        "gains"_a.noconvert(), "rate"_a, "momentum"_a, "least_gain"_a, "longest"_a, "n_threads"_a);
}

template <class T>
void bind_convolution(nb::module_& m, const char* name) {
    nb::class_<Convolution<T>>(m, name)
        .def(
            "__init__",
            [](Convolution<T>* self, In2<T> transform, int64_t columns) {
                expect(int64_t(transform.shape(1)) == columns / 2 + 1 && columns % 2 == 0,
                       "transform must be (rows, columns / 2 + 1), columns even");
                new (self) Convolution<T>(int64_t(transform.shape(0)), columns, transform.data());
            },
            "transform"_a.noconvert(), "columns"_a)
        .def(
            "apply",
            [](Convolution<T>& self, Out2<T> field, int n_threads) {
                expect(2 * int64_t(field.shape(0)) <= self.rows() &&
                           2 * int64_t(field.shape(1)) <= self.columns(),
                       "the field may fill half of the padded lengths");
                nb::gil_scoped_release unlocked;
                self.apply(field.data(), int64_t(field.shape(0)), int64_t(field.shape(1)),
                           n_threads);
            },
            "field"_a.noconvert(), "n_threads"_a);
}

template <class T>
void bind_edges(nb::module_& m, const char* name) {
    nb::class_<Edges<T>>(m, name)
        .def(nb::init<In1<int64_t>, In1<int32_t>, In1<T>>(), "indptr"_a.noconvert(),
             "indices"_a.noconvert(), "p"_a.noconvert())
        .def(
            "attraction",
            [](const Edges<T>& edges, In2<T> y, const std::string& similarity, double dof,
               bool loss, Out2<T> force, int n_threads) {
                return edges.attraction(y, similarity_of(similarity, dof), loss, n_threads, force);
            },
            "y"_a.noconvert(), "similarity"_a, "dof"_a, "loss"_a, "force"_a.noconvert(),
            "n_threads"_a)
        .def("renumber", &Edges<T>::renumber, "order"_a.noconvert(), "n_threads"_a);
}

void bind_cells(nb::module_& m) {
    m.attr("PANEL_POINTS") = kPanelPoints<float>;
    m.def(
        "fill_panels",
        [](In2<float> points, In1<float> point_norms, In1<int32_t> order, In1<int64_t> starts,
           In1<int64_t> first_panel, Out3<float> panels, Out2<float> norms, int n_threads) {
            const int64_t n_cells = check_cells(starts, first_panel, panels, norms);
            const auto n = int64_t(order.shape(0));
            expect(starts.data()[n_cells] == n, "starts must end at the number of points");
            expect(point_norms.shape(0) == points.shape(0), "one norm per point");
            expect(panels.shape(1) == points.shape(1), "points and panels must have equal width");
            for (int64_t i = 0; i < n; ++i)
                expect(order.data()[i] >= 0 && size_t(order.data()[i]) < points.shape(0),
                       "order must lie in [0, n)");
            nb::gil_scoped_release unlocked;
            fill_panels<float>(points.data(), point_norms.data(), order.data(), starts.data(),
                               first_panel.data(), n_cells, int64_t(points.shape(1)), n_threads,
                               panels.data(), norms.data());
        },
        "points"_a.noconvert(), "point_norms"_a.noconvert(), "order"_a.noconvert(),
        "starts"_a.noconvert(), "first_panel"_a.noconvert(), "panels"_a.noconvert(),
        "norms"_a.noconvert(), "n_threads"_a);
    m.def(
        "search_cells",
        [](In1<int64_t> starts, In1<int64_t> first_panel, In3<float> panels, In2<float> norms,
           In2<float> queries, In1<int32_t> selves, In2<int32_t> probes, bool ordered,
           Out2<float> values, Out2<int32_t> places, int n_threads) {
            const int64_t n_cells = check_cells(starts, first_panel, panels, norms);
            expect(queries.shape(1) == panels.shape(1), "queries and panels must have equal width");
            expect(selves.shape(0) == queries.shape(0) && probes.shape(0) == queries.shape(0) &&
                       values.shape(0) == queries.shape(0) && places.shape(0) == queries.shape(0),
                   "selves, probes, values and places must have one row per query");
            expect(values.shape(1) == places.shape(1) && values.shape(1) >= 1,
                   "values and places must be (queries, m)");
            for (size_t i = 0; i < probes.size(); ++i)
                expect(probes.data()[i] < n_cells, "probes must name cells");
            const Cells<float> cells{starts.data(), n_cells,      int64_t(panels.shape(1)),
                                     panels.data(), norms.data(), first_panel.data()};
            nb::gil_scoped_release unlocked;
            search_cells<float>(cells, queries.data(), int64_t(queries.shape(0)), selves.data(),
                                probes.data(), int(probes.shape(1)), int(values.shape(1)), ordered,
                                n_threads, values.data(), places.data());
        },
        "starts"_a.noconvert(), "first_panel"_a.noconvert(), "panels"_a.noconvert(),
        "norms"_a.noconvert(), "queries"_a.noconvert(), "selves"_a.noconvert(),
        "probes"_a.noconvert(), "ordered"_a, "values"_a.noconvert(), "places"_a.noconvert(),
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
    bind_edges<float>(m, "Edges32");
    bind_edges<double>(m, "Edges64");
    bind_convolution<float>(m, "Convolution32");
    bind_convolution<double>(m, "Convolution64");
    bind_cells(m);
}

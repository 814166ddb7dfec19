// Searches among points stored cell by cell.
#include "lowdim/cells.hpp"

#include "checks.hpp"

namespace lowdim {
namespace {

constexpr int64_t kPoints = kPanelPoints<float>;

// Cells must cover the points and have the panels to hold them; returns the number of cells.
template <class Panels, class Norms>
int64_t check_cells(const In1<int64_t>& starts, const In1<int64_t>& first_panel,
                    const Panels& panels, const Norms& norms) {
    expect(starts.shape(0) >= 2 && same_shape(starts, first_panel),
           "starts and first_panel must have one entry per cell and one more");
    const auto n_cells = int64_t(starts.shape(0)) - 1;
    expect(starts.data()[0] == 0 && first_panel.data()[0] == 0, "starts must begin at 0");
    for (int64_t c = 0; c < n_cells; ++c) {
        const int64_t capacity = (first_panel.data()[c + 1] - first_panel.data()[c]) * kPoints;
        const int64_t size = starts.data()[c + 1] - starts.data()[c];
        expect(size >= 0 && capacity >= size, "every cell must have the panels that hold it");
    }
    const int64_t n_panels = first_panel.data()[n_cells];
    expect(has_shape(panels, n_panels, panels.shape(1), kPoints) &&
               has_shape(norms, n_panels, kPoints),
           "panels and norms must have first_panel[-1] panels");
    return n_cells;
}

template <class T>
void bind_project_rows(nb::module_& m) {
    m.def(
        "project_rows",
        [](In2<T> x, In1<T> center, T scale, In3<float> axes, float share, Out2<float> out,
           Out1<float> squares, int n_threads) {
            expect(has_shape(center, x.shape(1)) && axes.shape(1) == x.shape(1),
                   "x, center and axes must have equal width");
            expect(axes.shape(2) == kPoints && out.shape(1) > 0 &&
                       axes.shape(0) * kPoints >= out.shape(1) - 1,
                   "axes must come as panels that hold all columns of out but the last");
            expect(out.shape(0) == x.shape(0) && has_shape(squares, x.shape(0)),
                   "out and squares must have one row per row of x");
            const Released released;
            project_rows<T>(x.data(), int64_t(x.shape(0)), int64_t(x.shape(1)), center.data(),
                            scale, axes.data(), int64_t(out.shape(1)) - 1, share, n_threads,
                            out.data(), squares.data());
        },
        "x"_array, "center"_array, "scale"_a, "axes"_array, "share"_a, "out"_array, "squares"_array,
        "n_threads"_a);
}

}  // namespace

void bind_cells(nb::module_& m) {
    m.attr("PANEL_POINTS") = kPanelPoints<float>;
    bind_project_rows<float>(m);
    bind_project_rows<double>(m);
    m.def(
        "order_by_cell",
        [](In1<int32_t> owner, int64_t n_cells, int n_threads) {
            expect_range(owner, 0, n_cells, "owner must lie in [0, n_cells)");
            CellOrder out = unlocked([&] {
                return order_by_cell(owner.data(), int64_t(owner.shape(0)), n_cells, n_threads);
            });
            return nb::make_tuple(to_numpy(std::move(out.order)), to_numpy(std::move(out.starts)));
        },
        "owner"_array, "n_cells"_a, "n_threads"_a);
    m.def(
        "cell_means",
        [](In2<float> points, In1<int32_t> order, In1<int64_t> starts, Out2<float> means,
           int n_threads) {
            const int64_t n_cells = check_indptr(starts, int64_t(order.shape(0)));
            expect(has_shape(means, n_cells, points.shape(1)), "means must be (cells, dim)");
            expect_range(order, 0, int64_t(points.shape(0)), "order must lie in [0, n)");
            const Released released;
            cell_means<float>(points.data(), order.data(), starts.data(), n_cells,
                              int64_t(points.shape(1)), n_threads, means.data());
        },
        "points"_array, "order"_array, "starts"_array, "means"_array, "n_threads"_a);
    m.def(
        "fill_panels",
        [](In2<float> points, In1<float> point_norms, In1<int32_t> order, In1<int64_t> starts,
           In1<int64_t> first_panel, Out3<float> panels, Out2<float> norms, int n_threads) {
            const int64_t n_cells = check_cells(starts, first_panel, panels, norms);
            expect(has_shape(order, starts.data()[n_cells]),
                   "starts must end at the number of points");
            expect(has_shape(point_norms, points.shape(0)),
                   "point_norms must have one entry per point");
            expect(panels.shape(1) == points.shape(1), "points and panels must have equal width");
            expect_range(order, 0, int64_t(points.shape(0)), "order must lie in [0, n)");
            const Released released;
            fill_panels<float>(points.data(), point_norms.data(), order.data(), starts.data(),
                               first_panel.data(), n_cells, int64_t(points.shape(1)), n_threads,
                               panels.data(), norms.data());
        },
        "points"_array, "point_norms"_array, "order"_array, "starts"_array, "first_panel"_array,
        "panels"_array, "norms"_array, "n_threads"_a);
    m.def(
        "search_cells",
        [](In1<int64_t> starts, In1<int64_t> first_panel, In3<float> panels, In2<float> norms,
           In2<float> queries, In1<int32_t> self_places, In2<int32_t> probes, bool ordered,
           Out2<float> values, Out2<int32_t> places, int n_threads) {
            const int64_t n_cells = check_cells(starts, first_panel, panels, norms);
            const size_t n_queries = queries.shape(0);
            expect(queries.shape(1) == panels.shape(1), "queries and panels must have equal width");
            expect(has_shape(self_places, n_queries) && probes.shape(0) == n_queries &&
                       values.shape(0) == n_queries && places.shape(0) == n_queries,
                   "self_places, probes, values and places must have one row per query");
            expect(same_shape(values, places) && values.shape(1) >= 1,
                   "values and places must be (queries, m)");
            for (size_t i = 0; i < probes.size(); ++i)
                expect(probes.data()[i] < n_cells, "probes must name cells");
            const Cells<float> cells{starts.data(), n_cells,      int64_t(panels.shape(1)),
                                     panels.data(), norms.data(), first_panel.data()};
            const Released released;
            search_cells<float>(cells, queries.data(), int64_t(n_queries), self_places.data(),
                                probes.data(), int(probes.shape(1)), int(values.shape(1)), ordered,
                                n_threads, values.data(), places.data());
        },
        "starts"_array, "first_panel"_array, "panels"_array, "norms"_array, "queries"_array,
        "self_places"_array, "probes"_array, "ordered"_a, "values"_array, "places"_array,
        "n_threads"_a);
}

}  // namespace lowdim

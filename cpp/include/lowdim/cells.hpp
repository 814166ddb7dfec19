// Nearest points among those of a few cells: points stored in panels, cell by cell, each query
// compared with the points of its cells. The result of a query does not depend on the others.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "lowdim/buckets.hpp"
#include "lowdim/kernels.hpp"
#include "lowdim/parallel.hpp"

namespace lowdim {

// Points [starts[c], starts[c + 1]) make cell c, in the panels [first_panel[c], first_panel[c +
// 1]).
template <class T>
struct Cells {
    const int64_t* starts;
    int64_t n_cells, dim;
    const T* panels;  // coordinates times -2, so that |y|^2 - 2 x.y is one sum
    const T* norms;   // |y|^2, panel by panel; infinite where there is no point
    const int64_t* first_panel;
};

// Points in the order of their cells: the points of cell c are order[starts[c]], ...,
// order[starts[c + 1] - 1], in ascending order.
struct CellOrder {
    Buffer<int32_t> order;
    Buffer<int64_t> starts;
};

inline CellOrder order_by_cell(const int32_t* owner, int64_t n, int64_t n_cells, int n_threads) {
    // Few blocks if there are many cells, because each block counts the points of every cell.
    const int64_t block = std::max<int64_t>(4096, 8 * n_cells);
    CellOrder out{Buffer<int32_t>(size_t(n)), {}};
    const std::vector<int64_t> starts =
        sort_into_buckets((n + block - 1) / block, n_cells, n_threads,
                          [&](int64_t b, auto&& emit) {
                              for (int64_t i = b * block; i < std::min(n, (b + 1) * block); ++i)
                                  emit(owner[i], int32_t(i));
                          },
                          [&](int64_t place, int32_t i) { out.order[size_t(place)] = i; });
    out.starts.assign(starts.begin(), starts.end());
    return out;
}

// means[c] = the mean of the points of cell c; a cell without points is left as it is.
template <class T>
void cell_means(const T* points, const int32_t* order, const int64_t* starts, int64_t n_cells,
                int64_t dim, int n_threads, T* means) {
    parallel_ranges(n_cells, 8, n_threads, [&](int64_t begin, int64_t end, int) {
        for (int64_t c = begin; c < end; ++c) {
            if (starts[c] == starts[c + 1]) continue;
            T* mean = means + c * dim;
            const T* first = points + order[starts[c]] * dim;
            std::copy(first, first + dim, mean);
            for (int64_t place = starts[c] + 1; place < starts[c + 1]; ++place) {
                const T* point = points + order[place] * dim;
                for (int64_t t = 0; t < dim; ++t) mean[t] += point[t];
            }
            const auto size = double(starts[c + 1] - starts[c]);
            for (int64_t t = 0; t < dim; ++t) mean[t] = T(double(mean[t]) / size);
        }
    });
}

// Fill the panels: the point at place i is row order[i] of the points, and adds norms[order[i]].
template <class T>
void fill_panels(const T* points, const T* point_norms, const int32_t* order, const int64_t* starts,
                 const int64_t* first_panel, int64_t n_cells, int64_t dim, int n_threads, T* panels,
                 T* norms) {
    constexpr int P = kPanelPoints<T>;
    parallel_ranges(n_cells, 4, n_threads, [&](int64_t begin, int64_t end, int) {
        for (int64_t c = begin; c < end; ++c)
            for (int64_t p = first_panel[c]; p < first_panel[c + 1]; ++p) {
                const int64_t at = starts[c] + (p - first_panel[c]) * P;
                for (int j = 0; j < P; ++j) {
                    const bool real = at + j < starts[c + 1];
                    const int64_t row = real ? order[at + j] : 0;
                    T* out = panels + p * dim * P + j;
                    for (int64_t t = 0; t < dim; ++t)
                        out[t * P] = real ? -2 * points[row * dim + t] : T(0);
                    norms[p * P + j] = real ? point_norms[row] : std::numeric_limits<T>::infinity();
                }
            }
    });
}

// Up to kPanelQueries rows, dimension by dimension, as the kernels need them.
template <class T>
void pack_queries(const T* queries, int64_t dim, const int64_t* rows, int count, T* packed) {
    for (int r = 0; r < kPanelQueries; ++r) {
        const T* row = queries + rows[r < count ? r : 0] * dim;
        for (int64_t t = 0; t < dim; ++t) packed[t * kPanelQueries + r] = row[t];
    }
}

// The m points of smallest |y|^2 - 2 x.y for each query x, among those of its cells
// probes[q, 0..n_probes) (nearest cell first; -1 is none). self_places[q] is the query's own place,
// or -1. Consecutive queries share the reads of a cell, so queries should be ordered by cell.
// Missing results are -1. ordered: results are sorted by (value, place).
template <class T>
void search_cells(const Cells<T>& cells, const T* queries, int64_t n_queries,
                  const int32_t* self_places, const int32_t* probes, int n_probes, int m,
                  bool ordered, int n_threads, T* values, int32_t* places) {
    constexpr int P = kPanelPoints<T>;
    constexpr int64_t kChunk = 384;
    const int capacity = m + std::max(m, 128) + P;
    const Kernels<T>& kernel = kernels<T>();
    struct Visit {
        int32_t rank, cell, query;
    };
    struct Run {
        int32_t rank;
        size_t begin, end;
    };
    struct Scratch {  // kept from chunk to chunk
        std::vector<T> values, bounds, packed;
        std::vector<int32_t> ids, counts, own, slots;
        std::vector<Visit> visits;
        std::vector<Run> runs;
        std::vector<std::pair<T, int32_t>> sorted;
    };
    std::vector<Scratch> scratches(size_t(std::max(n_threads, 1)));
    parallel_ranges(n_queries, kChunk, n_threads, [&](int64_t begin, int64_t end, int thread) {
        auto& [list_values, bounds, packed, list_ids, counts, own, slots, visits, runs, sorted] =
            scratches[size_t(thread)];
        const int64_t dim = cells.dim;
        const auto count = int32_t(end - begin);
        list_values.resize(size_t(count) * size_t(capacity));
        list_ids.resize(list_values.size());
        counts.assign(size_t(count), 0);
        bounds.assign(size_t(count), std::numeric_limits<T>::max());
        const Shortlists<T> lists{
            list_values.data(), list_ids.data(), counts.data(), bounds.data(), m, capacity};

        // The visits, cell by cell; cells that are the nearest of some query come first, so that
        // the bounds are low early.
        visits.clear();
        visits.reserve(size_t(count) * size_t(n_probes));
        for (int32_t q = 0; q < count; ++q)
            for (int r = 0; r < n_probes; ++r) {
                const int32_t cell = probes[(begin + q) * n_probes + r];
                if (cell >= 0) visits.push_back({r, cell, q});
            }
        std::sort(visits.begin(), visits.end(), [](const Visit& a, const Visit& b) {
            return std::pair(a.cell, a.rank) < std::pair(b.cell, b.rank) ||
                   (a.cell == b.cell && a.rank == b.rank && a.query < b.query);
        });
        runs.clear();
        for (size_t v = 0; v < visits.size();) {
            size_t stop = v;
            while (stop < visits.size() && visits[stop].cell == visits[v].cell) ++stop;
            runs.push_back({visits[v].rank, v, stop});
            v = stop;
        }
        std::stable_sort(runs.begin(), runs.end(),
                         [](const Run& a, const Run& b) { return a.rank < b.rank; });

        for (const Run& run : runs) {
            const int32_t cell = visits[run.begin].cell;
            const size_t n_visits = run.end - run.begin;
            const size_t groups = (n_visits + kPanelQueries - 1) / kPanelQueries;
            packed.resize(groups * size_t(dim) * kPanelQueries);
            own.resize(n_visits);
            slots.resize(n_visits);
            for (size_t g = 0; g < groups; ++g) {
                int64_t rows[kPanelQueries];
                const size_t from = g * kPanelQueries;
                const int here = int(std::min<size_t>(kPanelQueries, n_visits - from));
                for (int r = 0; r < here; ++r) {
                    const int32_t q = visits[run.begin + from + size_t(r)].query;
                    rows[r] = begin + q;
                    slots[from + size_t(r)] = q;
                    own[from + size_t(r)] = self_places[begin + q];
                }
                pack_queries(queries, dim, rows, here, &packed[from * size_t(dim)]);
            }
            for (int64_t p = cells.first_panel[cell]; p < cells.first_panel[cell + 1]; ++p) {
                const int64_t at = cells.starts[cell] + (p - cells.first_panel[cell]) * P;
                const int n_points = int(std::min<int64_t>(P, cells.starts[cell + 1] - at));
                for (size_t g = 0; g < groups; ++g) {
                    const size_t from = g * kPanelQueries;
                    kernel.offer_panel(&packed[from * size_t(dim)], cells.panels + p * dim * P,
                                       cells.norms + p * P, dim, n_points, int32_t(at),
                                       int(std::min<size_t>(kPanelQueries, n_visits - from)),
                                       &own[from], &slots[from], lists);
                }
            }
        }

        for (int32_t q = 0; q < count; ++q) {
            kernel.cut_list(lists, q);
            const T* value = &list_values[size_t(q) * size_t(capacity)];
            const int32_t* id = &list_ids[size_t(q) * size_t(capacity)];
            const int found = counts[size_t(q)];
            sorted.assign(size_t(m), {std::numeric_limits<T>::infinity(), -1});
            for (int c = 0; c < found; ++c) sorted[size_t(c)] = {value[c], id[c]};
            if (ordered) std::sort(sorted.begin(), sorted.begin() + found);
            for (int c = 0; c < m; ++c) {
                values[(begin + q) * m + c] = sorted[size_t(c)].first;
                places[(begin + q) * m + c] = sorted[size_t(c)].second;
            }
        }
    });
}

// For v = scale (x_i - center): squares[i] = |v|^2, and out[i, :] = (z, sqrt(share r^2)) with z the
// products of v with `width` axes and r^2 = |v|^2 - |z|^2 what they leave out. The axes come as
// panels; each row is computed on its own.
template <class T>
void project_rows(const T* x, int64_t n, int64_t dim, const T* center, T scale, const float* axes,
                  int64_t width, float share, int n_threads, float* out, float* squares) {
    constexpr int P = kPanelPoints<float>;
    const Kernels<float>& kernel = kernels<float>();
    parallel_ranges(n, 16 * kPanelQueries, n_threads, [&](int64_t begin, int64_t end, int) {
        std::vector<float> packed(size_t(dim) * kPanelQueries), sums(kPanelQueries * P);
        const std::vector<float> zero(P, 0.0F);
        for (int64_t i = begin; i < end; i += kPanelQueries) {
            const int here = int(std::min<int64_t>(kPanelQueries, end - i));
            for (int r = 0; r < kPanelQueries; ++r) {
                const T* row = x + (i + (r < here ? r : 0)) * dim;
                for (int64_t t = 0; t < dim; ++t)
                    packed[size_t(t * kPanelQueries + r)] = float(scale * (row[t] - center[t]));
            }
            float square[kPanelQueries] = {};
            for (int64_t t = 0; t < dim; ++t)
                for (int r = 0; r < kPanelQueries; ++r) {
                    const float v = packed[size_t(t * kPanelQueries + r)];
                    square[r] += v * v;
                }
            float left[kPanelQueries];
            for (int r = 0; r < here; ++r) squares[i + r] = left[r] = square[r];
            for (int64_t first = 0; first < width; first += P) {
                kernel.panel_products(packed.data(), axes + first * dim, zero.data(), dim,
                                      sums.data());
                const int64_t count = std::min<int64_t>(P, width - first);
                for (int r = 0; r < here; ++r) {
                    const float* found = &sums[size_t(r * P)];
                    std::copy_n(found, count, out + (i + r) * (width + 1) + first);
                    float kept = 0;
                    for (int64_t c = 0; c < count; ++c) kept += found[c] * found[c];
                    left[r] -= kept;
                }
            }
            for (int r = 0; r < here; ++r)
                out[(i + r) * (width + 1) + width] = std::sqrt(share * std::max(left[r], 0.0F));
        }
    });
}

}  // namespace lowdim

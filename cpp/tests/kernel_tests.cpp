// Every kernel against the plainest code that computes the same thing, in float and double.
// Inputs are small whole numbers wherever that makes the arithmetic, hence the answer, exact.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <stdexcept>
#include <utility>
#include <vector>

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

using namespace lowdim;

namespace {

int passed = 0, failed = 0;

void check(bool ok, const char* what) {
    ++(ok ? passed : failed);
    if (!ok) std::printf("FAILED: %s\n", what);
}

template <class T>
constexpr T kInf = std::numeric_limits<T>::infinity();
constexpr int32_t kNobody = std::numeric_limits<int32_t>::max();

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
    return a.size() == b.size() &&
           (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

// |a - b| within a few roundings of `scale`; equal infinities are close.
template <class T>
bool close(T a, double b, double scale = 1) {
    const double slack = 200 * double(std::numeric_limits<T>::epsilon());
    return double(a) == b || std::abs(double(a) - b) <= slack * std::max(scale, std::abs(b));
}

class Random {
  public:
    explicit Random(uint32_t seed) : engine_(seed) {}
    int whole(int low, int high) {  // in [low, high]
        return low + int(engine_() % uint32_t(high - low + 1));
    }
    double real() { return double(engine_()) / 4294967296.0; }  // in [0, 1)
    template <class T>
    std::vector<T> wholes(int64_t n, int low, int high) {
        std::vector<T> values(static_cast<size_t>(n));
        for (T& v : values) v = T(whole(low, high));
        return values;
    }
    template <class T>
    std::vector<T> reals(int64_t n) {
        std::vector<T> values(static_cast<size_t>(n));
        for (T& v : values) v = T(2 * real() - 1);
        return values;
    }

  private:
    std::mt19937 engine_;
};

// --- threads -------------------------------------------------------------------------------

void test_parallel() {
    for (int n_threads : {-1, 1, 3, 8})
        for (int64_t n : {0, 1, 5, 64, 100}) {
            std::vector<int> visits(size_t(n), 0);
            parallel_ranges(n, 7, n_threads, [&](int64_t begin, int64_t end, int) {
                for (int64_t i = begin; i < end; ++i) ++visits[size_t(i)];
            });
            check(std::all_of(visits.begin(), visits.end(), [](int v) { return v == 1; }),
                  "parallel_ranges visits every item once");
        }
    for (int n_threads : {1, 3}) {
        bool caught = false;
        try {
            parallel_chunks(20, n_threads, [](int64_t c, int) {
                if (c == 11) throw std::runtime_error("eleven");
            });
        } catch (const std::runtime_error&) {
            caught = true;
        }
        check(caught, "parallel_chunks passes an exception on");
    }
}

// --- the k best of rows and columns --------------------------------------------------------

template <class T>
using Ranked = std::vector<std::pair<T, int32_t>>;

template <class T>
struct Heaps {
    Heaps(int n, int k)
        : values(size_t(n) * size_t(k), kInf<T>), ids(size_t(n) * size_t(k), kNobody), k_(k) {}
    Heap<T> at(int first) { return {values.data() + first * k_, ids.data() + first * k_, k_}; }
    Ranked<T> sorted(int i) const {
        Ranked<T> found;
        for (int c = i * k_; c < (i + 1) * k_; ++c)
            found.emplace_back(values[size_t(c)], ids[size_t(c)]);
        std::sort(found.begin(), found.end());
        return found;
    }
    std::vector<T> values;
    std::vector<int32_t> ids;
    int k_;
};

template <class T>
Ranked<T> best(Ranked<T> all, int k) {
    all.insert(all.end(), size_t(k), {kInf<T>, kNobody});
    std::sort(all.begin(), all.end());
    all.resize(size_t(k));
    return all;
}

// All pairs of n objects from the tiles on and above the diagonal, as the library does it.
template <class T>
void test_offers_symmetric(int n, int side, int k, bool ties, bool backwards) {
    Random random(uint32_t(n * 1000 + side * 10 + k));
    std::vector<T> scores(size_t(n) * size_t(n));
    for (int i = 0; i < n; ++i)
        for (int j = 0; j <= i; ++j)
            scores[size_t(i * n + j)] = scores[size_t(j * n + i)] =
                ties ? T(random.whole(0, 3)) : T(random.real());
    const std::vector<T> offset = random.wholes<T>(n, 0, 2);
    Heaps<T> heaps(n, k);
    std::vector<T> bounds(static_cast<size_t>(n));
    std::vector<std::pair<int, int>> tiles;
    for (int i = 0; i < n; i += side)
        for (int j = i; j < n; j += side) tiles.emplace_back(i, j);
    if (backwards) std::reverse(tiles.begin(), tiles.end());
    for (auto [i, j] : tiles) {
        const Tile<T> tile{scores.data() + size_t(i) * size_t(n) + j,
                           size_t(n),
                           std::min(side, n - i),
                           std::min(side, n - j),
                           i,
                           j,
                           T(-2)};
        kernels<T>().offer_to_rows(tile, offset.data() + j, 0, tile.rows, heaps.at(i));
        if (i != j)
            kernels<T>().offer_to_columns(tile, offset.data() + i, 0, tile.cols, heaps.at(j),
                                          bounds.data());
    }
    bool ok = true;
    for (int i = 0; i < n; ++i) {
        Ranked<T> all;
        for (int j = 0; j < n; ++j)
            if (j != i) all.emplace_back(T(-2) * scores[size_t(i * n + j)] + offset[size_t(j)], j);
        ok = ok && heaps.sorted(i) == best(all, k);
    }
    check(ok, "offers by rows and columns find the k best of all pairs");
}

// One tile with padding and a diagonal running through it, offered by parts.
template <class T>
void test_offers_rectangle(int rows, int cols, int k) {
    Random random(uint32_t(rows + 100 * cols + k));
    const int stride = cols + 3, first_row = 40, first_col = 30;
    const std::vector<T> data = random.wholes<T>(int64_t(rows) * stride, 0, 4);
    const std::vector<T> by_col = random.wholes<T>(cols, 0, 2),
                         by_row = random.wholes<T>(rows, 0, 2);
    const Tile<T> tile{data.data(), size_t(stride), rows, cols, first_row, first_col, T(3)};
    auto score = [&](int i, int j) { return T(3) * data[size_t(i * stride + j)]; };

    Heaps<T> of_rows(rows, k), untouched(1, k);
    const int skip = rows > 2 ? 1 : 0;  // the last row is not offered
    kernels<T>().offer_to_rows(tile, by_col.data(), 0, rows / 2, of_rows.at(0));
    kernels<T>().offer_to_rows(tile, by_col.data(), rows / 2, rows - skip, of_rows.at(0));
    bool ok = skip == 0 || of_rows.sorted(rows - 1) == untouched.sorted(0);
    for (int i = 0; i < rows - skip; ++i) {
        Ranked<T> all;
        for (int j = 0; j < cols; ++j)
            if (first_col + j != first_row + i)
                all.emplace_back(score(i, j) + by_col[size_t(j)], first_col + j);
        ok = ok && of_rows.sorted(i) == best(all, k);
    }
    check(ok, "offer_to_rows on a padded tile, by parts");

    Heaps<T> of_cols(cols, k);
    std::vector<T> bounds(static_cast<size_t>(cols));
    const int last = cols > 2 ? 1 : 0;
    kernels<T>().offer_to_columns(tile, by_row.data(), 0, cols / 2, of_cols.at(0), bounds.data());
    kernels<T>().offer_to_columns(tile, by_row.data(), cols / 2, cols - last, of_cols.at(0),
                                  bounds.data());
    ok = last == 0 || of_cols.sorted(cols - 1) == untouched.sorted(0);
    for (int j = 0; j < cols - last; ++j) {
        Ranked<T> all;
        for (int i = 0; i < rows; ++i)
            if (first_col + j != first_row + i)
                all.emplace_back(score(i, j) + by_row[size_t(i)], first_row + i);
        ok = ok && of_cols.sorted(j) == best(all, k);
    }
    check(ok, "offer_to_columns on a padded tile, by parts");
}

template <class T>
void test_offers() {
    for (int n : {1, 2, 33, 64, 131})
        for (int side : {32, 50, 200})
            for (int k : {1, 2, 7, 40})
                for (bool ties : {true, false})
                    for (bool backwards : {true, false})
                        test_offers_symmetric<T>(n, side, k, ties, backwards);
    for (int rows : {1, 5, 37, 64})
        for (int cols : {1, 31, 32, 33, 90})
            for (int k : {1, 5}) test_offers_rectangle<T>(rows, cols, k);
}

// --- inner products, and neighbours ranked anew --------------------------------------------

template <class T>
void test_products() {
    Random random(1);
    bool exact = true, near = true;
    for (int n = 0; n <= 70; ++n) {
        const std::vector<T> a = random.wholes<T>(n, -9, 9), b = random.wholes<T>(n, -9, 9);
        const std::vector<T> x = random.reals<T>(n), y = random.reals<T>(n);
        int dot = 0, squares = 0;
        double real_dot = 0, real_squares = 0;
        for (size_t i = 0; i < size_t(n); ++i) {
            dot += int(a[i]) * int(b[i]);
            squares += int(a[i] - b[i]) * int(a[i] - b[i]);
            real_dot += double(x[i]) * double(y[i]);
            real_squares += std::pow(double(x[i]) - double(y[i]), 2);
        }
        exact = exact && kernels<T>().dot(a.data(), b.data(), a.size()) == T(dot) &&
                kernels<T>().squared_distance(a.data(), b.data(), a.size()) == T(squares);
        near = near && close(kernels<T>().dot(x.data(), y.data(), x.size()), real_dot, n) &&
               close(kernels<T>().squared_distance(x.data(), y.data(), x.size()), real_squares, n);
    }
    check(exact, "dot and squared_distance of whole numbers are exact");
    check(near, "dot and squared_distance of real numbers");
}

template <class T>
void test_rerank(bool cosine) {
    Random random(cosine ? 2 : 3);
    const int64_t n_points = 60, n_queries = 600, dim = 5;
    std::vector<T> points = random.wholes<T>(n_points * dim, -2, 2);
    std::vector<T> queries = random.wholes<T>(n_queries * dim, -2, 2);
    if (cosine)  // unit vectors along the axes, and zero vectors: exact, and full of ties
        for (auto* vectors : {&points, &queries}) {
            std::fill(vectors->begin(), vectors->end(), T(0));
            for (size_t row = 0; row < vectors->size(); row += size_t(dim)) {
                const int axis = random.whole(0, int(dim));
                if (axis < dim) (*vectors)[row + size_t(axis)] = T(2 * random.whole(0, 1) - 1);
            }
        }
    for (int m : {1, 4, 20}) {
        std::vector<int32_t> candidates;
        for (int64_t q = 0; q < n_queries; ++q) {
            std::vector<int32_t> all;
            for (int32_t p = 0; p < n_points; ++p) all.push_back(p);
            for (int c = 0; c < m; ++c) {  // no candidate twice, some missing
                std::swap(all[size_t(c)], all[size_t(random.whole(c, int(n_points) - 1))]);
                candidates.push_back(random.whole(0, 9) == 0 ? -1 : all[size_t(c)]);
            }
        }
        for (int k = 1; k <= m; k += 3) {
            std::vector<int32_t> ids(size_t(n_queries * k)), again(ids.size());
            std::vector<T> distances(ids.size()), distances_again(ids.size());
            rerank<T>(queries.data(), points.data(), n_queries, dim, candidates.data(), m, k,
                      cosine, 1, ids.data(), distances.data());
            rerank<T>(queries.data(), points.data(), n_queries, dim, candidates.data(), m, k,
                      cosine, 3, again.data(), distances_again.data());
            check(ids == again && same_bits(distances, distances_again),
                  "rerank does not depend on the threads");
            bool ok = true;
            for (int64_t q = 0; q < n_queries; ++q) {
                Ranked<T> all;
                for (int c = 0; c < m; ++c) {
                    const int32_t id = candidates[size_t(q * m + c)];
                    T value = 0;
                    for (int64_t d = 0; d < dim && id >= 0; ++d) {
                        const T a = queries[size_t(q * dim + d)], b = points[size_t(id * dim + d)];
                        value += cosine ? a * b : (a - b) * (a - b);
                    }
                    all.emplace_back(id < 0 ? kInf<T> : cosine ? 1 - value : std::sqrt(value), id);
                }
                std::sort(all.begin(), all.end());
                for (int c = 0; c < k; ++c)
                    ok = ok && ids[size_t(q * k + c)] == all[size_t(c)].second &&
                         distances[size_t(q * k + c)] == all[size_t(c)].first;
            }
            check(ok, "rerank orders by (distance, id)");
        }
    }
}

template <class T>
void test_rerank_sparse(bool cosine) {
    Random random(cosine ? 12 : 13);
    const int64_t n_points = 40, n_queries = 150, dim = 30;
    const int m = 12, k = 5;
    auto sparse = [&](int64_t n, std::vector<T>& dense) {
        Csr<T> csr;
        csr.indptr.push_back(0);
        dense.assign(size_t(n * dim), T(0));
        for (int64_t i = 0; i < n; ++i) {
            for (int32_t j = 0; j < dim; ++j)
                if (random.whole(0, 3) == 0) {
                    csr.indices.push_back(j);
                    csr.data.push_back(T(random.whole(-2, 2)) / T(cosine ? 8 : 1));
                    dense[size_t(i * dim + j)] = csr.data.back();
                }
            csr.indptr.push_back(int64_t(csr.indices.size()));
        }
        return csr;
    };
    std::vector<T> dense_points, dense_queries;
    const Csr<T> points = sparse(n_points, dense_points);
    const Csr<T> queries = sparse(n_queries, dense_queries);
    const SparseRows<T> p{points.indptr.data(), points.indices.data(), points.data.data()};
    const SparseRows<T> q{queries.indptr.data(), queries.indices.data(), queries.data.data()};
    std::vector<int32_t> candidates;
    for (int64_t i = 0; i < n_queries * m; ++i)
        candidates.push_back(random.whole(0, 9) == 0 ? -1 : int32_t((i * 3 + i / m) % n_points));
    std::vector<int32_t> ids(size_t(n_queries * k)), again(ids), expected(ids);
    std::vector<T> distances(ids.size()), distances_again(ids.size()), right(ids.size());
    rerank_sparse<T>(q, p, n_queries, dim, candidates.data(), m, k, cosine, 1, ids.data(),
                     distances.data());
    rerank_sparse<T>(q, p, n_queries, dim, candidates.data(), m, k, cosine, 3, again.data(),
                     distances_again.data());
    rerank<T>(dense_queries.data(), dense_points.data(), n_queries, dim, candidates.data(), m, k,
              cosine, 1, expected.data(), right.data());
    check(ids == again && same_bits(distances, distances_again),
          "rerank_sparse does not depend on the threads");
    check(ids == expected && same_bits(distances, right), "rerank_sparse agrees with rerank");
}

// --- cells ---------------------------------------------------------------------------------

template <class T>
void test_cells(int64_t dim, bool ties) {
    Random random(21);
    constexpr int P = kPanelPoints<T>;
    const std::vector<int64_t> starts = {0, 1, 1, 70, 70 + P, 400};
    const int64_t n_cells = int64_t(starts.size()) - 1, n = starts.back(), n_queries = 900;
    const std::vector<T> points = random.wholes<T>(n * dim, ties ? 0 : -40, ties ? 1 : 40);
    std::vector<T> queries = random.wholes<T>(n_queries * dim, ties ? 0 : -40, ties ? 1 : 40);
    std::vector<int32_t> order;
    for (int32_t i = 0; i < n; ++i) order.push_back(i);
    for (int32_t i = 0; i < n; ++i)
        std::swap(order[size_t(i)], order[size_t(random.whole(i, int(n) - 1))]);
    std::vector<T> norms;
    for (int64_t i = 0; i < n; ++i) {
        T sum = 0;
        for (int64_t t = 0; t < dim; ++t)
            sum += points[size_t(i * dim + t)] * points[size_t(i * dim + t)];
        norms.push_back(sum);
    }
    std::vector<int64_t> first_panel = {0};
    for (int64_t c = 0; c < n_cells; ++c)
        first_panel.push_back(first_panel.back() +
                              (starts[size_t(c + 1)] - starts[size_t(c)] + P - 1) / P);
    std::vector<T> panels(size_t(first_panel.back() * dim * P)),
        sums(size_t(first_panel.back() * P));
    fill_panels<T>(points.data(), norms.data(), order.data(), starts.data(), first_panel.data(),
                   n_cells, dim, 2, panels.data(), sums.data());
    const Cells<T> cells{starts.data(), n_cells,     dim,
                         panels.data(), sums.data(), first_panel.data()};
    std::vector<int32_t> selves, probes;
    const int n_probes = 3;
    for (int64_t q = 0; q < n_queries; ++q) {
        selves.push_back(q % 2 == 0 ? int32_t(q % n) : -1);
        const int first = random.whole(0, int(n_cells) - 1);
        for (int r = 0; r < n_probes; ++r)  // each cell once, some places empty
            probes.push_back(random.whole(0, 5) == 0 ? -1 : int32_t((first + r) % n_cells));
    }
    for (int m : {1, 7, 60, 500}) {
        std::vector<T> values(size_t(n_queries * m)), values_again(values.size());
        std::vector<int32_t> places(values.size()), places_again(values.size());
        search_cells<T>(cells, queries.data(), n_queries, selves.data(), probes.data(), n_probes, m,
                        true, 1, values.data(), places.data());
        search_cells<T>(cells, queries.data(), n_queries, selves.data(), probes.data(), n_probes, m,
                        true, 3, values_again.data(), places_again.data());
        check(places == places_again && same_bits(values, values_again),
              "search_cells does not depend on the threads");
        bool ok = true;
        for (int64_t q = 0; q < n_queries; ++q) {
            Ranked<T> all;
            for (int r = 0; r < n_probes; ++r) {
                const int32_t cell = probes[size_t(q * n_probes + r)];
                if (cell < 0) continue;
                for (int64_t at = starts[size_t(cell)]; at < starts[size_t(cell + 1)]; ++at) {
                    if (at == selves[size_t(q)]) continue;
                    T score = norms[size_t(order[size_t(at)])];
                    for (int64_t t = 0; t < dim; ++t)
                        score -= 2 * queries[size_t(q * dim + t)] *
                                 points[size_t(order[size_t(at)] * dim + t)];
                    all.emplace_back(score, int32_t(at));
                }
            }
            std::sort(all.begin(), all.end());
            all.resize(size_t(m), {kInf<T>, -1});
            for (int c = 0; c < m; ++c)
                ok = ok && places[size_t(q * m + c)] == all[size_t(c)].second &&
                     values[size_t(q * m + c)] == all[size_t(c)].first;
        }
        check(ok, "search_cells finds the first by (score, place) in its cells");
    }
}

template <class T>
void test_project(int64_t width) {
    Random random(22);
    constexpr int P = kPanelPoints<float>;
    const int64_t n = 500, dim = 37, n_panels = (width + P - 1) / P;
    const std::vector<T> x = random.wholes<T>(n * dim, -9, 9),
                         center = random.wholes<T>(dim, -9, 9);
    std::vector<float> axes(size_t(n_panels * dim * P), 0.0F), out(size_t(n * width)), again(out);
    std::vector<float> squares(static_cast<size_t>(n)), squares_again(squares);
    for (int64_t c = 0; c < width; ++c)
        for (int64_t t = 0; t < dim; ++t)
            axes[size_t((c / P * dim + t) * P + c % P)] = float(random.whole(-3, 3));
    project_rows<T>(x.data(), n, dim, center.data(), T(0.5), axes.data(), width, 1, out.data(),
                    squares.data());
    project_rows<T>(x.data(), n, dim, center.data(), T(0.5), axes.data(), width, 3, again.data(),
                    squares_again.data());
    check(same_bits(out, again) && same_bits(squares, squares_again),
          "project_rows does not depend on the threads");
    bool ok = true;
    for (int64_t i = 0; i < n; ++i) {
        float square = 0;
        for (int64_t t = 0; t < dim; ++t) {
            const auto v = float(T(0.5) * (x[size_t(i * dim + t)] - center[size_t(t)]));
            square += v * v;
        }
        ok = ok && square == squares[size_t(i)];
        for (int64_t c = 0; c < width; ++c) {
            float sum = 0;
            for (int64_t t = 0; t < dim; ++t)
                sum += float(T(0.5) * (x[size_t(i * dim + t)] - center[size_t(t)])) *
                       axes[size_t((c / P * dim + t) * P + c % P)];
            ok = ok && sum == out[size_t(i * width + c)];
        }
    }
    check(ok, "project_rows agrees with plain loops");
}

// --- graphs --------------------------------------------------------------------------------

template <class T>
struct Arc {
    int32_t from, to;
    T length;
};

template <class T>
Csr<T> from_arcs(int64_t n, const std::vector<Arc<T>>& arcs) {
    Csr<T> csr;
    csr.indptr.push_back(0);
    for (int64_t i = 0; i < n; ++i) {
        for (const Arc<T>& arc : arcs)
            if (arc.from == i) {
                csr.indices.push_back(arc.to);
                csr.data.push_back(arc.length);
            }
        csr.indptr.push_back(int64_t(csr.indices.size()));
    }
    return csr;
}

template <class T>
Graph<T> view(const Csr<T>& csr) {
    return {int64_t(csr.indptr.size()) - 1, csr.indptr.data(), csr.indices.data(), csr.data.data()};
}

template <class T>
void test_symmetrize() {
    for (int n : {0, 1, 2, 30}) {
        Random random(uint32_t(n) + 5);
        std::vector<Arc<T>> arcs;
        const size_t cells = size_t(n) * size_t(n);
        std::vector<char> known(cells, 0);
        std::vector<T> value(cells, T(0));
        for (int trial = 0; trial < 5 * n; ++trial) {  // no arc twice, loops and zeros among them
            const int i = random.whole(0, n - 1), j = random.whole(0, n - 1);
            if (known[size_t(i * n + j)]) continue;
            known[size_t(i * n + j)] = 1;
            value[size_t(i * n + j)] = T(random.whole(0, 3));
            arcs.push_back({i, j, value[size_t(i * n + j)]});
        }
        const Csr<T> csr = from_arcs(n, arcs);
        const Csr<T> flipped =
            transpose<T>(n, csr.indptr.data(), csr.indices.data(), csr.data.data());
        bool ok = flipped.indices.size() == arcs.size();
        for (int i = 0; i < n; ++i) {
            size_t place = size_t(flipped.indptr[size_t(i)]);
            for (int j = 0; j < n; ++j)
                if (known[size_t(j * n + i)]) {
                    ok = ok && flipped.indices[place] == j &&
                         flipped.data[place] == value[size_t(j * n + i)];
                    ++place;
                }
            ok = ok && place == size_t(flipped.indptr[size_t(i) + 1]);
        }
        check(ok, "transpose");

        for (Symmetry how :
             {Symmetry::kUnion, Symmetry::kMutual, Symmetry::kMean, Symmetry::kHalfSum}) {
            const Csr<T> out =
                symmetrize<T>(n, csr.indptr.data(), csr.indices.data(), csr.data.data(), how, 2);
            Csr<T> naive;
            naive.indptr.push_back(0);
            for (int i = 0; i < n; ++i) {
                for (int j = 0; j < n; ++j) {
                    const bool there = known[size_t(i * n + j)], back = known[size_t(j * n + i)];
                    if (how == Symmetry::kMutual ? !(there && back) : !(there || back)) continue;
                    const T a = value[size_t(i * n + j)], b = value[size_t(j * n + i)];
                    const T one = there ? a : b;
                    T result = one;
                    if (there && back)
                        result = how == Symmetry::kUnion || how == Symmetry::kMutual
                                     ? std::min(a, b)
                                     : (a + b) / 2;
                    else if (how == Symmetry::kHalfSum)
                        result = one / 2;
                    naive.indices.push_back(j);
                    naive.data.push_back(result);
                }
                naive.indptr.push_back(int64_t(naive.indices.size()));
            }
            check(out.indptr == naive.indptr && out.indices == naive.indices &&
                      same_bits(out.data, naive.data),
                  "symmetrize");
        }
    }
    Csr<T> ring;  // more rows than a chunk holds
    const int32_t n = 9000;
    Random random(6);
    for (int32_t i = 0; i < n; ++i) {
        ring.indptr.push_back(2 * i);
        ring.indices.insert(ring.indices.end(), {(i + 17) % n, (i + 1) % n});
        ring.data.insert(ring.data.end(), {T(random.real()), T(random.real())});
    }
    ring.indptr.push_back(2 * n);
    const Graph<T> g = view(ring);
    const Csr<T> one = symmetrize<T>(n, g.indptr, g.indices, g.weights, Symmetry::kMean, 1);
    const Csr<T> three = symmetrize<T>(n, g.indptr, g.indices, g.weights, Symmetry::kMean, 3);
    check(one.indices.size() == size_t(4 * n) && one.indptr == three.indptr &&
              one.indices == three.indices && same_bits(one.data, three.data),
          "symmetrize does not depend on the threads");
}

using Levels = std::pair<int64_t, int64_t>;

Levels levels(int64_t n, const std::vector<std::pair<int32_t, int32_t>>& edges) {
    std::vector<Arc<float>> arcs;
    for (auto [a, b] : edges) {
        arcs.push_back({a, b, 1});
        arcs.push_back({b, a, 1});
    }
    const Csr<float> csr = from_arcs(n, arcs);
    return level_structure(n, csr.indptr.data(), csr.indices.data());
}

void test_level_structure() {
    std::vector<std::pair<int32_t, int32_t>> path, star, grid, complete;
    for (int32_t i = 0; i < 9; ++i) path.emplace_back(i, i + 1);
    for (int32_t i = 1; i < 10; ++i) star.emplace_back(0, i);
    for (int32_t i = 0; i < 4; ++i)
        for (int32_t j = 0; j < 7; ++j) {
            if (i < 3) grid.emplace_back(i * 7 + j, i * 7 + j + 7);
            if (j < 6) grid.emplace_back(i * 7 + j, i * 7 + j + 1);
        }
    for (int32_t i = 0; i < 6; ++i)
        for (int32_t j = 0; j < i; ++j) complete.emplace_back(i, j);
    check(levels(0, {}) == Levels(0, 0), "levels of nothing");
    check(levels(1, {}) == Levels(1, 1), "levels of one node");
    check(levels(10, path) == Levels(10, 1), "levels of a path");
    check(levels(10, {{5, 4}, {4, 0}, {0, 1}, {1, 2}}) == Levels(5, 1),
          "levels start at the rim of the first component and stay in it");
    check(levels(10, star) == Levels(3, 8), "levels of a star");
    check(levels(28, grid) == Levels(10, 4), "levels of a grid");
    check(levels(6, complete) == Levels(2, 5), "levels of a complete graph");
}

// --- shortest paths ------------------------------------------------------------------------

template <class T>
std::vector<T> dense_lengths(const Graph<T>& g) {
    std::vector<T> lengths(size_t(g.n * g.n), kInf<T>);
    for (int64_t i = 0; i < g.n; ++i) {
        for (int64_t e = g.indptr[i]; e < g.indptr[i + 1]; ++e) {
            T& cell = lengths[size_t(i * g.n + g.indices[e])];
            cell = std::min(cell, g.weights[e]);
        }
        lengths[size_t(i * g.n + i)] = 0;
    }
    return lengths;
}

template <class T>
void naive_floyd_warshall(std::vector<T>& d, int64_t n) {
    for (int64_t k = 0; k < n; ++k)
        for (int64_t i = 0; i < n; ++i)
            for (int64_t j = 0; j < n; ++j)
                d[size_t(i * n + j)] =
                    std::min(d[size_t(i * n + j)], d[size_t(i * n + k)] + d[size_t(k * n + j)]);
}

// Bellman and Ford: sums lengths from the source outwards, so it rounds as the kernel does.
template <class T>
std::vector<T> naive_paths(const Graph<T>& g, int32_t source) {
    std::vector<T> d(size_t(g.n), kInf<T>);
    d[size_t(source)] = 0;
    for (bool changed = true; changed;) {
        changed = false;
        for (int64_t u = 0; u < g.n; ++u)
            for (int64_t e = g.indptr[u]; e < g.indptr[u + 1]; ++e) {
                const T through = d[size_t(u)] + g.weights[e];
                if (through < d[size_t(g.indices[e])]) {
                    d[size_t(g.indices[e])] = through;
                    changed = true;
                }
            }
    }
    return d;
}

template <class T>
void test_paths(const Csr<T>& csr, const std::vector<int32_t>& sources, bool whole,
                const char* what) {
    const Graph<T> g = view(csr);
    const auto n_sources = int64_t(sources.size());
    std::vector<T> one(size_t(n_sources * g.n), T(-1)), three = one;
    shortest_paths(g, sources.data(), n_sources, 1, one.data());
    shortest_paths(g, sources.data(), n_sources, 3, three.data());
    bool ok = same_bits(one, three);
    std::vector<T> all = dense_lengths(g);
    naive_floyd_warshall(all, g.n);
    for (int64_t s = 0; s < n_sources; ++s) {
        const std::vector<T> row(one.begin() + s * g.n, one.begin() + (s + 1) * g.n);
        const int32_t source = sources[size_t(s)];
        ok = ok && same_bits(row, naive_paths(g, source));
        for (int64_t v = 0; v < g.n; ++v) {
            const T expected = all[size_t(source * g.n + v)];
            ok = ok && (row[size_t(v)] == expected ||
                        (!whole && close(row[size_t(v)], double(expected), 1e-30)));
        }
    }
    check(ok, what);
}

enum class Lengths { kWhole, kZero, kReal, kUneven };

template <class T>
Csr<T> random_graph(int n, int n_arcs, Lengths kind, bool directed, uint32_t seed) {
    Random random(seed);
    std::vector<Arc<T>> arcs;  // arcs may be there twice, and lead back to where they start
    for (int a = 0; a < n_arcs; ++a) {
        const int32_t i = random.whole(0, n - 1), j = random.whole(0, n - 1);
        const double uneven = std::pow(10.0, 12 * random.real() - 6);
        const T length = kind == Lengths::kWhole  ? T(random.whole(0, 9))
                         : kind == Lengths::kReal ? T(random.real())
                         : kind == Lengths::kZero ? T(0)
                                                  : T(uneven);
        arcs.push_back({i, j, length});
        if (!directed) arcs.push_back({j, i, length});
    }
    return from_arcs(n, arcs);
}

template <class T>
void test_shortest_paths() {
    uint32_t seed = 10;
    for (int n : {1, 2, 17, 60})
        for (int degree : {0, 1, 2, 6})
            for (Lengths kind : {Lengths::kWhole, Lengths::kZero, Lengths::kReal, Lengths::kUneven})
                for (bool directed : {true, false}) {
                    const Csr<T> csr = random_graph<T>(n, n * degree / 2, kind, directed, ++seed);
                    std::vector<int32_t> sources(static_cast<size_t>(n));
                    for (int32_t i = 0; i < n; ++i) sources[size_t(i)] = n - 1 - i;
                    test_paths(csr, sources, kind == Lengths::kWhole || kind == Lengths::kZero,
                               "shortest_paths from every node");
                }
    const Csr<T> csr = random_graph<T>(40, 80, Lengths::kReal, false, 7);
    test_paths(csr, {}, false, "shortest_paths from nowhere");
    test_paths(csr, {5}, false, "shortest_paths from one node");
    test_paths(csr, std::vector<int32_t>(3 * kLanes + 2, 4), false,
               "shortest_paths from one node many times");
    std::vector<int32_t> mixed;
    Random random(8);
    for (int s = 0; s < 5 * kLanes + 3; ++s) mixed.push_back(random.whole(0, 11));
    test_paths(csr, mixed, false, "shortest_paths from repeated nodes");
    std::vector<Arc<T>> chain;  // one long path: many rounds of the ring of buckets
    for (int32_t i = 0; i + 1 < 120; ++i) {
        chain.push_back({i, i + 1, T(i % 3)});
        chain.push_back({i + 1, i, T(i % 3)});
    }
    test_paths(from_arcs<T>(120, chain), {0, 119, 60}, true, "shortest_paths along a chain");
}

template <class T>
void test_relax() {
    Random random(20);
    bool ok = true;
    for (int trial = 0; trial < 50; ++trial) {
        const int n = 6, n_arcs = random.whole(0, 8);
        std::vector<T> lanes = random.wholes<T>(n * kLanes, 0, 9);
        for (T& v : lanes)
            if (random.whole(0, 4) == 0) v = kInf<T>;
        const int32_t u = random.whole(0, n - 1);
        std::vector<int32_t> targets, expected_ids;
        std::vector<T> expected_lengths, naive = lanes;
        const std::vector<T> weights = random.wholes<T>(n_arcs, 0, 5);
        for (int e = 0; e < n_arcs; ++e) {
            targets.push_back(random.whole(0, n - 1));
            T greatest = -1;
            for (int l = 0; l < kLanes; ++l) {
                const T through = lanes[size_t(u * kLanes + l)] + weights[size_t(e)];
                T& to = naive[size_t(targets.back() * kLanes + l)];
                if (through < to) {
                    to = through;
                    greatest = std::max(greatest, through);
                }
            }
            if (greatest >= 0) {
                expected_ids.push_back(targets.back());
                expected_lengths.push_back(greatest);
            }
        }
        std::vector<int32_t> shortened(static_cast<size_t>(n_arcs));
        std::vector<T> farthest(static_cast<size_t>(n_arcs));
        const int count = kernels<T>().relax(lanes.data(), u, targets.data(), weights.data(),
                                             n_arcs, shortened.data(), farthest.data());
        shortened.resize(size_t(count));
        farthest.resize(size_t(count));
        ok = ok && lanes == naive && shortened == expected_ids && farthest == expected_lengths;
    }
    check(ok, "relax");
}

template <class T>
void test_floyd_warshall() {
    for (int n : {0, 1, 2, 40, 300}) {  // 300: more rows than a chunk holds
        const Csr<T> csr =
            n == 0 ? from_arcs<T>(0, {}) : random_graph<T>(n, 3 * n / 2, Lengths::kWhole, true, 30);
        std::vector<T> naive = dense_lengths(view(csr));
        std::vector<T> one = naive, three = naive;
        naive_floyd_warshall(naive, n);
        floyd_warshall(one.data(), n, 1);
        floyd_warshall(three.data(), n, 3);
        check(one == naive && same_bits(one, three), "floyd_warshall");
    }
}

// --- barycentric weights -------------------------------------------------------------------

// Gaussian elimination with pivoting on (G + shift I) w = 1, w then scaled to sum to one.
std::vector<double> naive_weights(std::vector<double> a, int k, double shift) {
    std::vector<double> w(size_t(k), 1.0);
    auto at = [&](int i, int j) -> double& { return a[size_t(i * k + j)]; };
    for (int i = 0; i < k; ++i) at(i, i) += shift;
    for (int c = 0; c < k; ++c) {
        int pivot = c;
        for (int i = c; i < k; ++i)
            if (std::abs(at(i, c)) > std::abs(at(pivot, c))) pivot = i;
        for (int j = 0; j < k; ++j) std::swap(at(c, j), at(pivot, j));
        std::swap(w[size_t(c)], w[size_t(pivot)]);
        for (int i = c + 1; i < k; ++i) {
            const double factor = at(i, c) / at(c, c);
            for (int j = c; j < k; ++j) at(i, j) -= factor * at(c, j);
            w[size_t(i)] -= factor * w[size_t(c)];
        }
    }
    double sum = 0;
    for (int i = k - 1; i >= 0; --i) {
        for (int j = i + 1; j < k; ++j) w[size_t(i)] -= at(i, j) * w[size_t(j)];
        w[size_t(i)] /= at(i, i);
        sum += w[size_t(i)];
    }
    for (double& v : w) v /= sum;
    return w;
}

// The Gram matrix of the chosen points of y about one point x.
template <class T>
std::vector<T> gram_about(const T* x, const std::vector<T>& y, const std::vector<int32_t>& chosen,
                          int dim) {
    std::vector<T> gram;
    for (int32_t a : chosen)
        for (int32_t b : chosen) {
            T sum = 0;
            for (int c = 0; c < dim; ++c)
                sum += (x[c] - y[size_t(a * dim + c)]) * (x[c] - y[size_t(b * dim + c)]);
            gram.push_back(sum);
        }
    return gram;
}

template <class T>
void test_barycentric_random(int k, int dim) {
    Random random(uint32_t(100 * k + dim));
    const int n = 600, n_points = 50;
    const double reg = 1e-2;
    const std::vector<T> x = random.wholes<T>(n * dim, -9, 9);
    const std::vector<T> y = random.wholes<T>(n_points * dim, -9, 9);
    std::vector<T> grams;
    for (int i = 0; i < n; ++i) {
        std::vector<int32_t> chosen(static_cast<size_t>(k));
        for (int32_t& j : chosen) j = random.whole(0, n_points - 1);  // the same one twice, too
        const std::vector<T> gram = gram_about(x.data() + i * dim, y, chosen, dim);
        grams.insert(grams.end(), gram.begin(), gram.end());
    }
    std::vector<T> one(size_t(n) * size_t(k)), three(one.size());
    barycentric_weights<T>(grams.data(), n, k, reg, 1, one.data());
    barycentric_weights<T>(grams.data(), n, k, reg, 3, three.data());
    check(same_bits(one, three), "barycentric_weights do not depend on the threads");
    bool ok = true;
    for (int i = 0; i < n; ++i) {
        const auto first = grams.begin() + i * k * k;
        const std::vector<double> gram(first, first + k * k);
        double trace = 0;
        for (int a = 0; a < k; ++a) trace += gram[size_t(a * k + a)];
        const std::vector<double> naive = naive_weights(gram, k, trace > 0 ? reg * trace : reg);
        for (int a = 0; a < k; ++a) ok = ok && close(one[size_t(i * k + a)], naive[size_t(a)]);
    }
    check(ok, "barycentric_weights");
}

template <class T>
void test_barycentric_singular() {
    const std::vector<T> y = {0, 0, 2, 2, 4, 4, 6, 6, 1, 1};  // points on a line
    const std::vector<T> x = {1, 1};                          // equal to the last of them
    auto weights = [&](const std::vector<int32_t>& chosen, double reg) {
        std::vector<T> w(chosen.size());
        const std::vector<T> gram = gram_about(x.data(), y, chosen, 2);
        barycentric_weights<T>(gram.data(), 1, int(w.size()), reg, 1, w.data());
        return w;
    };
    for (double reg : {0.0, 1e-14, 1e-3}) {
        check(weights({4, 4, 4, 4}, reg) == std::vector<T>(4, T(0.25)),
              "neighbours that all equal the point share it");
        for (const std::vector<int32_t>& chosen :
             {std::vector<int32_t>{0, 1, 2, 3}, std::vector<int32_t>{0, 0, 1, 1}}) {
            const std::vector<T> w = weights(chosen, reg);
            double sum = 0, place = 0;
            for (size_t a = 0; a < w.size(); ++a) {
                sum += double(w[a]);
                place += double(w[a]) * double(y[size_t(2 * chosen[a])]);
            }
            check(std::abs(sum - 1) < 1e-5 && std::abs(place - 1) < 0.05,
                  "weights of a singular neighbourhood sum to one and rebuild the point");
        }
    }
    check(weights({3}, 1e-3) == std::vector<T>{1}, "a single neighbour has weight one");
    std::vector<double> indefinite = {1, 2, 2, 1};
    double w[2];
    check(!solve_ones(indefinite, 2, w), "solve_ones refuses an indefinite matrix");
}

template <class T>
void test_barycentric() {
    for (int k : {1, 2, 5, 12})
        for (int dim : {1, 3, 20}) test_barycentric_random<T>(k, dim);
    test_barycentric_singular<T>();
}

// --- products with panels ------------------------------------------------------------------

template <class T>
void test_spmm(int width) {
    const int n = 23;
    const Csr<T> a = random_graph<T>(n, 40, Lengths::kWhole, true, uint32_t(40 + width));
    Random random(uint32_t(width) + 20);
    const std::vector<T> x = random.wholes<T>(n * width, -5, 5);
    std::vector<T> y(size_t(n * width), T(-1)), naive(size_t(n * width), T(0));
    for (int i = 0; i < n; ++i)
        for (int64_t e = a.indptr[size_t(i)]; e < a.indptr[size_t(i) + 1]; ++e)
            for (int c = 0; c < width; ++c)
                naive[size_t(i * width + c)] +=
                    a.data[size_t(e)] * x[size_t(a.indices[size_t(e)] * width + c)];
    auto rows = [&](int begin, int end) {
        kernels<T>().spmm(a.indptr.data(), a.indices.data(), a.data.data(), x.data(), y.data(),
                          begin, end, width);
    };
    rows(0, 7);
    check(std::all_of(y.begin() + 7 * width, y.end(), [](T v) { return v == -1; }),
          "spmm writes its rows only");
    rows(7, n);
    check(y == naive, "spmm");
}

template <class T>
void test_narrow_matmul(int width, bool squared) {
    Random random(uint32_t(width) + 60);
    const auto kernel = squared ? kernels<T>().squared_matmul : kernels<T>().matmul;
    for (int n_cols : {0, 1, 19, 75, 1100}) {  // 1100: more columns than a block holds
        const int n = 11;
        const std::vector<T> a = random.wholes<T>(n * n_cols, 0, 6);
        const std::vector<T> x = random.wholes<T>(width * n_cols, -5, 5);  // x[c * n_cols + j]
        std::vector<T> y(size_t(n * width), T(-1)), naive(size_t(n * width), T(0));
        for (int i = 0; i < n; ++i)
            for (int j = 0; j < n_cols; ++j)
                for (int c = 0; c < width; ++c) {
                    const T v = a[size_t(i * n_cols + j)];
                    naive[size_t(i * width + c)] +=
                        (squared ? v * v : v) * x[size_t(c * n_cols + j)];
                }
        kernel(a.data(), n_cols, x.data(), y.data(), 0, 5, width);
        check(std::all_of(y.begin() + 5 * width, y.end(), [](T v) { return v == -1; }),
              "matmul writes its rows only");
        kernel(a.data(), n_cols, x.data(), y.data(), 5, n, width);
        check(y == naive, squared ? "squared_matmul" : "matmul");
    }
}

// --- stress --------------------------------------------------------------------------------

// Pulls sum_j w (1 - target / d) (x_i - x_j) of the given pairs, in double; x point by point.
template <class T>
double naive_stress(const std::vector<T>& x, int dim, int i, int j, double target, double weight,
                    std::vector<double>& sums) {
    double squares = 0;
    for (int c = 0; c < dim; ++c)
        squares += std::pow(double(x[size_t(i * dim + c)]) - double(x[size_t(j * dim + c)]), 2);
    const double d = std::sqrt(squares);
    for (int c = 0; c < dim && d > 0; ++c) {
        const double gap = double(x[size_t(i * dim + c)]) - double(x[size_t(j * dim + c)]);
        sums[size_t(i * dim + c)] += weight * (1 - target / d) * gap;
        sums[size_t(j * dim + c)] -= weight * (1 - target / d) * gap;
    }
    return weight * (target - d) * (target - d);
}

template <class T>
bool all_close(const std::vector<T>& a, const std::vector<double>& b, double scale) {
    bool ok = a.size() == b.size();
    for (size_t k = 0; ok && k < a.size(); ++k) ok = close(a[k], b[k], scale);
    return ok;
}

template <class T>
void test_stress(int n, int dim, T scale) {
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
    check(all_close(one, full, size), "stress_gradient");
    check(std::abs(stress - all) <= 1e-4 * all && close(T(stress / (1 + all)), all / (1 + all)),
          "stress_gradient's stress");
    check(same_bits(one, three) && stress == again, "stress_gradient with three threads");

    const auto count = int64_t(first.size());
    std::vector<T> d(first.size());
    kernels<T>().pair_distances(first.data(), second.data(), x.data(), dim, 0, count, d.data());
    const double pairs = pair_gradient<T>(first.data(), second.data(), d.data(), targets.data(),
                                          weights.data(), count, x.data(), n, dim, 1, one.data());
    pair_gradient<T>(first.data(), second.data(), d.data(), targets.data(), weights.data(), count,
                     x.data(), n, dim, 3, three.data());
    check(all_close(one, listed, size), "pair_gradient");
    check(close(T(pairs / (1 + some)), some / (1 + some)), "pair_gradient's stress");
    check(same_bits(one, three), "pair_gradient with three threads");
}

// Sammon's stress by its definition; floats too are summed in double.
template <class T>
void test_sammon(int n, int dim, double epsilon) {
    Random random(uint32_t(n * 10 + dim));
    const std::vector<double> x = random.reals<double>(int64_t(n) * dim);
    std::vector<double> mass(static_cast<size_t>(n)), naive(x.size(), 0.0), transposed(x.size());
    std::vector<T> delta(size_t(n) * size_t(n), T(0));
    for (double& m : mass) m = random.whole(1, 3);
    for (int i = 0; i < n; ++i)
        for (int c = 0; c < dim; ++c) transposed[size_t(c * n + i)] = x[size_t(i * dim + c)];
    double total = 0;
    for (int i = 0; i < n; ++i)
        for (int j = i + 1; j < n; ++j) {
            const T target = random.whole(0, 5) == 0 ? T(0) : T(random.real() + 0.1);
            delta[size_t(i * n + j)] = delta[size_t(j * n + i)] = target;
            if (target == T(0) && epsilon == 0) continue;
            const double weight =
                mass[size_t(i)] * mass[size_t(j)] / std::max(double(target), epsilon);
            total += naive_stress(x, dim, i, j, double(target), weight, naive);
        }
    std::vector<double> one(x.size()), three(x.size());
    const double stress = sammon_gradient<T>(delta.data(), transposed.data(), mass.data(), n, dim,
                                             1e-12, epsilon, 1, one.data());
    const double again = sammon_gradient<T>(delta.data(), transposed.data(), mass.data(), n, dim,
                                            1e-12, epsilon, 3, three.data());
    bool ok = std::abs(stress - 2 * total) <= 1e-10 * (1 + total);
    for (size_t k = 0; k < one.size(); ++k)
        ok = ok && std::abs(one[k] - naive[k]) <= 1e-10 * (1 + total);
    check(ok, "sammon_gradient");
    check(stress == again && same_bits(one, three), "sammon_gradient with three threads");
}

// The divergences of row i, and the slopes by all squared distances, by their definitions.
struct NaiveRow {
    double missed = 0, wrong = 0;
    std::vector<double> slope;
};
template <class T>
NaiveRow naive_divergence(const T* cost, const std::vector<double>& square, const double* precision,
                          int n_scales, double trade_off) {
    const size_t n = square.size();
    std::vector<std::vector<double>> q(static_cast<size_t>(n_scales), std::vector<double>(n));
    std::vector<double> mean(n, 0.0), log_ratio(n), by_q(n);
    for (size_t h = 0; h < q.size(); ++h) {
        double z = 0;
        for (size_t j = 0; j < n; ++j) z += q[h][j] = std::exp(-precision[h] * square[j]);
        for (size_t j = 0; j < n; ++j) mean[j] += (q[h][j] /= z) / n_scales;
    }
    NaiveRow out;
    out.slope.assign(n, 0.0);
    for (size_t j = 0; j < n; ++j) {
        const double p = std::exp(-double(cost[j]));
        log_ratio[j] = std::log(mean[j]) + double(cost[j]);
        out.missed -= p * log_ratio[j];
        out.wrong += mean[j] * log_ratio[j];
        by_q[j] = -trade_off * p / mean[j] + (1 - trade_off) * (log_ratio[j] + 1);
    }
    for (size_t h = 0; h < q.size(); ++h) {
        double sum = 0;
        for (size_t j = 0; j < n; ++j) sum += by_q[j] * q[h][j];
        for (size_t j = 0; j < n; ++j)
            out.slope[j] -= precision[h] * q[h][j] * (by_q[j] - sum) / n_scales;
    }
    return out;
}

template <class T>
void test_divergence(int n, int dim, int n_scales, double trade_off) {
    Random random(uint32_t(n * 100 + dim * 10 + n_scales));
    const std::vector<double> y = random.reals<double>(int64_t(n) * dim);
    std::vector<T> costs = random.reals<T>(int64_t(n) * (n - 1));
    std::vector<double> precisions(static_cast<size_t>(n * n_scales)), naive(y.size(), 0.0);
    std::vector<double> transposed(y.size()), square(static_cast<size_t>(n - 1));
    for (T& cost : costs) cost = std::abs(cost) + T(1);
    for (int i = 0; i < n; ++i)
        for (int h = 0; h < n_scales; ++h)
            precisions[size_t(i * n_scales + h)] = 0.2 + h + std::abs(random.real()) / 2;
    for (int i = 0; i < n; ++i)
        for (int c = 0; c < dim; ++c) transposed[size_t(c * n + i)] = y[size_t(i * dim + c)];
    double missed = 0, wrong = 0;
    for (int i = 0; i < n; ++i) {
        for (int j = 0; j < n - 1; ++j) {
            const int k = j < i ? j : j + 1;
            square[size_t(j)] = 0;
            for (int c = 0; c < dim; ++c)
                square[size_t(j)] += std::pow(y[size_t(i * dim + c)] - y[size_t(k * dim + c)], 2);
        }
        const NaiveRow row =
            naive_divergence(costs.data() + i * (n - 1), square, precisions.data() + i * n_scales,
                             n_scales, trade_off);
        missed += row.missed;
        wrong += row.wrong;
        for (int j = 0; j < n - 1; ++j)
            for (int c = 0; c < dim; ++c) {
                const int k = j < i ? j : j + 1;
                const double gap = y[size_t(i * dim + c)] - y[size_t(k * dim + c)];
                naive[size_t(i * dim + c)] += 2 * row.slope[size_t(j)] * gap;
                naive[size_t(k * dim + c)] -= 2 * row.slope[size_t(j)] * gap;
            }
    }
    const Mixture mixture{n_scales, trade_off};
    std::vector<double> one(y.size()), three(y.size());
    double found[2], again[2];
    divergence_gradient<T>(costs.data(), precisions.data(), transposed.data(), n, dim, mixture, 1,
                           one.data(), found);
    divergence_gradient<T>(costs.data(), precisions.data(), transposed.data(), n, dim, mixture, 3,
                           three.data(), again);
    bool ok = std::abs(found[0] - missed) <= 1e-10 * (1 + std::abs(missed)) &&
              std::abs(found[1] - wrong) <= 1e-10 * (1 + std::abs(wrong));
    for (size_t k = 0; k < one.size(); ++k) ok = ok && std::abs(one[k] - naive[k]) <= 1e-10 * n;
    check(ok, "divergence_gradient");
    check(same_bits(one, three) && found[0] == again[0] && found[1] == again[1],
          "divergence_gradient with three threads");
}

// A new point ends where its gradient vanishes, whatever the number of threads.
template <class T>
void test_place_by_divergence() {
    const int n = 50, n_new = 9, dim = 2;
    Random random(11);
    const std::vector<double> x = random.reals<double>(n * dim);
    const std::vector<double> starts = random.reals<double>(n_new * 2 * dim);
    std::vector<T> costs(static_cast<size_t>(n_new * n));
    const std::vector<double> precisions(static_cast<size_t>(n_new), 1.5);
    for (int r = 0; r < n_new; ++r) {
        const double a = random.real() / 2, b = random.real() / 2;
        double sum = 0;
        for (int j = 0; j < n; ++j)
            sum += std::exp(-std::pow(a - x[size_t(j)], 2) - std::pow(b - x[size_t(n + j)], 2));
        for (int j = 0; j < n; ++j)
            costs[size_t(r * n + j)] = T(std::pow(a - x[size_t(j)], 2) +
                                         std::pow(b - x[size_t(n + j)], 2) + std::log(sum));
    }
    const Mixture mixture{1, 0.6};
    std::vector<double> one(static_cast<size_t>(n_new * dim)), three(one.size());
    place_by_divergence<T>(costs.data(), precisions.data(), n_new, x.data(), n, dim, mixture,
                           starts.data(), 2, 300, 1e-9, 1, one.data());
    place_by_divergence<T>(costs.data(), precisions.data(), n_new, x.data(), n, dim, mixture,
                           starts.data(), 2, 300, 1e-9, 3, three.data());
    check(same_bits(one, three), "place_by_divergence with three threads");
    bool ok = true;
    for (int r = 0; r < n_new; ++r) {
        std::vector<double> square(static_cast<size_t>(n));
        for (int j = 0; j < n; ++j)
            square[size_t(j)] = std::pow(one[size_t(2 * r)] - x[size_t(j)], 2) +
                                std::pow(one[size_t(2 * r + 1)] - x[size_t(n + j)], 2);
        const NaiveRow row = naive_divergence(costs.data() + r * n, square, precisions.data() + r,
                                              1, mixture.trade_off);
        for (int c = 0; c < dim; ++c) {
            double sum = 0;
            for (int j = 0; j < n; ++j)
                sum += 2 * row.slope[size_t(j)] * (one[size_t(2 * r + c)] - x[size_t(c * n + j)]);
            ok = ok && std::abs(sum) < 1e-5;
        }
    }
    check(ok, "place_by_divergence");
}

// A point is put back where its distances to the others say.
template <class T>
void test_place_points() {
    const int n = 40, dim = 2, n_new = 20;
    Random random(5);
    const std::vector<T> x = random.reals<T>(n * dim), truth = random.reals<T>(n_new * dim);
    std::vector<T> targets(size_t(n_new * n)), weights(size_t(n_new * n), T(1));
    for (int r = 0; r < n_new; ++r)
        for (int j = 0; j < n; ++j)
            targets[size_t(r * n + j)] = std::hypot(truth[size_t(r * dim)] - x[size_t(j)],
                                                    truth[size_t(r * dim + 1)] - x[size_t(n + j)]);
    std::vector<T> one = truth, three;
    for (T& v : one) v += T(0.1);
    for (int j = 0; j < n; ++j) weights[size_t(3 * n + j)] = 0;  // nothing is known of the fourth
    three = one;
    const T still = one[6];
    place_points<T>(targets.data(), weights.data(), n_new, x.data(), n, dim, 1000, 1e-12, 1,
                    one.data());
    place_points<T>(targets.data(), weights.data(), n_new, x.data(), n, dim, 1000, 1e-12, 3,
                    three.data());
    bool ok = true;
    for (int k = 0; k < n_new * dim; ++k)
        ok = ok && (k / dim == 3 || std::abs(one[size_t(k)] - truth[size_t(k)]) < T(1e-4));
    check(ok && one[6] == still, "place_points");
    check(same_bits(one, three), "place_points with three threads");
}

template <class T>
void test_meet_in_tiles() {
    const int n = 37, side = 3, n_tiles = 6;
    Random random(6);
    std::vector<T> one = random.reals<T>(n * 2), targets(size_t(n_tiles * side * side), T(0.5));
    std::vector<int32_t> order(size_t(n), 0);
    for (int i = 0; i < n; ++i) order[size_t(i)] = int32_t((i * 5 + 2) % n);
    std::vector<T> three = one, naive = one;
    meet_in_tiles<T>(order.data(), n_tiles, side, targets.data(), nullptr, 0.4, 2, 1, one.data());
    meet_in_tiles<T>(order.data(), n_tiles, side, targets.data(), nullptr, 0.4, 2, 3, three.data());
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
    check(all_close(one, std::vector<double>(naive.begin(), naive.end()), 10), "meet_in_tiles");
    check(same_bits(one, three), "meet_in_tiles with three threads");
}

// --- isotonic regression --------------------------------------------------------------------

// max over j <= k of min over l >= k of the weighted mean of [j, l], by its definition.
template <class T>
std::vector<double> naive_isotonic(const std::vector<T>& y, const std::vector<T>& w) {
    const size_t n = y.size();
    std::vector<double> out(n, -kInf<double>);
    for (size_t j = 0; j < n; ++j) {
        std::vector<double> least(n, kInf<double>);
        double sum = 0, mass = 0;
        for (size_t l = j; l < n; ++l) {
            sum += double(w[l]) * double(y[l]);
            mass += double(w[l]);
            least[l] = sum / mass;
        }
        for (size_t l = n; l-- > j;) {
            if (l + 1 < n) least[l] = std::min(least[l], least[l + 1]);
            out[l] = std::max(out[l], least[l]);
        }
    }
    return out;
}

template <class T>
void test_isotonic() {
    Random random(9);
    for (int n : {0, 1, 2, 50, 300}) {
        std::vector<T> y = random.reals<T>(n), w = random.wholes<T>(n, 1, 4), out(y.size());
        for (int k = 0; k < n; ++k) y[size_t(k)] += T(k) / T(100);
        isotonic<T>(y.data(), w.data(), n, 1, out.data());
        check(all_close(out, naive_isotonic(y, w), 1), "isotonic");
        isotonic<T>(y.data(), nullptr, n, 1, out.data());
        check(all_close(out, naive_isotonic(y, std::vector<T>(y.size(), T(1))), 1),
              "isotonic without weights");
    }
    const int64_t n = 100000;  // several stretches
    std::vector<T> y = random.reals<T>(n), one(y.size()), three(y.size());
    for (int64_t k = 0; k < n; ++k) y[size_t(k)] += T(k) / T(n);
    isotonic<T>(y.data(), nullptr, n, 1, one.data());
    isotonic<T>(y.data(), nullptr, n, 3, three.data());
    check(std::is_sorted(one.begin(), one.end()), "isotonic is sorted");
    check(same_bits(one, three), "isotonic with three threads");

    const std::vector<T> tied = {3, 1, 2, 5, 4}, mass = {1, 1, 2, 1, 1};
    const std::vector<int64_t> starts = {0, 2, 5};
    std::vector<T> out(5);
    isotonic_with_ties<T>(tied.data(), nullptr, 5, starts.data(), 2, true, 1, out.data());
    check(all_close(out, {2.5, 1, 2.5, 5, 4}, 1), "isotonic, primary ties");
    isotonic_with_ties<T>(tied.data(), mass.data(), 5, starts.data(), 2, false, 1, out.data());
    check(all_close(out, {2, 2, 3.25, 3.25, 3.25}, 1), "isotonic, secondary ties");
}

// Each pin in turn, each other point in turn.
template <class T>
double naive_sweep(const Pins<T>& pins, const Pull& pull, std::vector<double>& y, int n, int dim) {
    double error = 0;
    for (int64_t p = 0; p < pins.count; ++p) {
        const int i = pins.points[p];
        for (int j = 0; j < n; ++j) {
            if (j == i) continue;
            double square = 0;
            for (int c = 0; c < dim; ++c)
                square += std::pow(y[size_t(c * n + j)] - y[size_t(c * n + i)], 2);
            const double d = std::sqrt(square);
            const double gap = double(pins.distances[pins.rows[p] * n + j]) * pull.unit - d;
            const double weight = pull.step ? double(d <= pull.reach) : std::exp(-d / pull.reach);
            error += weight * gap * gap;
            if (d == 0) continue;
            for (int c = 0; c < dim; ++c)
                y[size_t(c * n + j)] +=
                    pull.alpha * weight * gap / d * (y[size_t(c * n + j)] - y[size_t(c * n + i)]);
        }
    }
    return error;
}

template <class T>
void test_curvilinear(int n, int dim, bool step) {
    Random random{uint32_t(1000 * n + 10 * dim + step)};
    const int count = std::min(n, 70);
    std::vector<T> distances = random.reals<T>(int64_t(count) * n);
    for (T& d : distances) d = std::abs(d);
    std::vector<double> start = random.reals<double>(int64_t(n) * dim);
    if (n > 2)  // two points in one place
        for (int c = 0; c < dim; ++c) start[size_t(c * n + 1)] = start[size_t(c * n)];
    std::vector<int32_t> points(static_cast<size_t>(n)), rows(static_cast<size_t>(count));
    for (int i = 0; i < n; ++i) points[size_t(i)] = i;
    for (int i = n - 1; i > 0; --i)
        std::swap(points[size_t(i)], points[size_t(random.whole(0, i))]);
    for (int i = 0; i < count; ++i) {
        rows[size_t(i)] = count - 1 - i;
        distances[size_t(rows[size_t(i)]) * size_t(n) + size_t(points[size_t(i)])] = 0;
    }
    const Pins<T> pins{count, points.data(), rows.data(), distances.data()};
    const Pull pull{2.0, 0.4, 0.7, step};
    std::vector<double> naive = start;
    const double error = naive_sweep(pins, pull, naive, n, dim);
    std::vector<double> one = start, three = start;
    const double met = curvilinear_sweep(pins, pull, one.data(), n, dim, 1);
    bool ok = close(met, error, double(n));
    for (size_t k = 0; k < one.size(); ++k) ok = ok && std::abs(one[k] - naive[k]) < 1e-10;
    check(ok, "curvilinear_sweep");
    check(curvilinear_sweep(pins, pull, three.data(), n, dim, 3) == met && same_bits(one, three),
          "curvilinear_sweep with threads");
}

// --- co-ranking -----------------------------------------------------------------------------

template <class T>
std::vector<int32_t> naive_ranks(const T* distances, int n, int own) {
    std::vector<int32_t> order, ranks(static_cast<size_t>(n), 0);
    for (int j = 0; j < n; ++j)
        if (j != own) order.push_back(j);
    std::stable_sort(order.begin(), order.end(),
                     [&](int32_t a, int32_t b) { return distances[a] < distances[b]; });
    for (size_t i = 0; i < order.size(); ++i) ranks[size_t(order[i])] = int32_t(i) + 1;
    return ranks;
}

template <class T>
void test_compare_orders(int n, int kinds, std::vector<int32_t> grid) {
    Random random(uint32_t(n * 31 + kinds));
    const int rows = 5, k = std::min(n - 1, 4), size = int(grid.size());
    std::vector<T> a, b;
    if (kinds > 0) {
        a = random.wholes<T>(rows * n, 0, kinds), b = random.wholes<T>(rows * n, 0, kinds);
    } else {
        a = random.reals<T>(rows * n), b = random.reals<T>(rows * n);
        for (T& v : a) v = std::exp(30 * v);  // many octaves
        for (T& v : b) v = 1000 + v;          // hardly one
    }
    std::vector<int32_t> own = random.wholes<int32_t>(rows, 0, n - 1);
    struct Out {
        std::vector<int32_t> ids[4], shared;
    };
    auto compute = [&](int n_threads) {
        Out out;
        for (auto& ids : out.ids) ids.assign(size_t(rows * k), -1);
        out.shared.assign(size_t(rows * size), -1);
        const Compared into{
            k,    out.ids[0].data(), out.ids[1].data(), out.ids[2].data(), out.ids[3].data(),
            size, grid.data(),       out.shared.data()};
        compare_orders<T>(a.data(), b.data(), rows, n, own.data(), into, n_threads);
        return out;
    };
    const Out one = compute(1), three = compute(3);
    bool ok = true;
    for (int r = 0; r < rows; ++r) {
        const auto first = naive_ranks(&a[size_t(r * n)], n, own[size_t(r)]);
        const auto second = naive_ranks(&b[size_t(r * n)], n, own[size_t(r)]);
        for (int i = 0; i < k; ++i) {
            const size_t at = size_t(r * k + i);
            ok = ok && first[size_t(one.ids[0][at])] == i + 1 &&
                 second[size_t(one.ids[0][at])] == one.ids[1][at] &&
                 second[size_t(one.ids[2][at])] == i + 1 &&
                 first[size_t(one.ids[2][at])] == one.ids[3][at];
        }
        for (int g = 0; g < size; ++g) {
            int32_t count = 0;
            for (int j = 0; j < n; ++j)
                if (j != own[size_t(r)])
                    count += std::max(first[size_t(j)], second[size_t(j)]) <= grid[size_t(g)];
            ok = ok && count == one.shared[size_t(r * size + g)];
        }
    }
    check(ok, "compare_orders");
    bool same = same_bits(one.shared, three.shared);
    for (int i = 0; i < 4; ++i) same = same && same_bits(one.ids[i], three.ids[i]);
    check(same, "compare_orders with threads");
}

template <class T>
void test_coranking() {
    for (int n : {2, 3, 40, 700, 5000})
        for (int kinds : {0, 1, 30}) {
            std::vector<int32_t> all;
            for (int K = 1; K < n; ++K) all.push_back(K);
            if (n <= 700) test_compare_orders<T>(n, kinds, all);
            test_compare_orders<T>(n, kinds, {1, 2, 5, 17, 60, 400, 2000});
            test_compare_orders<T>(n, kinds, {});
        }
    Random random(5);
    for (int dim : {1, 2, 31, 32, 33, 100})
        for (int n : {1, 63, 64, 2100}) {
            const auto queries = random.wholes<T>(3 * dim, -9, 9);
            const auto points = random.wholes<T>(n * dim, -9, 9);
            std::vector<T> one(size_t(3 * n)), three(size_t(3 * n)), naive(size_t(3 * n), 0);
            for (int q = 0; q < 3; ++q)
                for (int j = 0; j < n; ++j)
                    for (int c = 0; c < dim; ++c) {
                        const T d = queries[size_t(q * dim + c)] - points[size_t(j * dim + c)];
                        naive[size_t(q * n + j)] += d * d;
                    }
            squared_distances<T>(queries.data(), 3, points.data(), n, dim, 1, one.data());
            squared_distances<T>(queries.data(), 3, points.data(), n, dim, 3, three.data());
            check(same_bits(one, naive), "squared_distances");
            check(same_bits(one, three), "squared_distances with threads");
        }
}

// --- fuzzy graphs and their layout ---------------------------------------------------------

template <class T>
void test_memberships() {
    Random random(21);
    const int n = 2100, k = 9;
    std::vector<int64_t> indptr(1, 0);
    std::vector<T> distances;
    for (int i = 0; i < n; ++i) {
        const int count = i % 50 == 0 ? 0 : random.whole(1, k);
        std::vector<T> row;
        for (int j = 0; j < count; ++j) row.push_back(T(random.whole(0, 12)) / 4);
        std::sort(row.begin(), row.end());
        if (i % 70 == 1) row.back() = kInf<T>;
        distances.insert(distances.end(), row.begin(), row.end());
        indptr.push_back(int64_t(distances.size()));
    }
    const double target = std::log2(6.0);
    std::vector<T> rho(n), sigma(n), one(distances.size()), three(distances.size());
    memberships(n, indptr.data(), distances.data(), target, 1.0, 1, rho.data(), sigma.data(),
                one.data());
    bool ok = true;
    for (int i = 0; i < n; ++i) {
        double sum = 0, least = 1, most = 0;
        for (int64_t e = indptr[size_t(i)]; e < indptr[size_t(i) + 1]; ++e) {
            const auto m = double(one[size_t(e)]);
            const bool finite = std::isfinite(distances[size_t(e)]);
            ok = ok && m >= 0 && m <= 1 && (finite || m == 0);
            ok = ok && (distances[size_t(e)] > rho[size_t(i)] || m == 1);
            if (!finite) continue;
            sum += m;
            least = std::min(least, m);
            most = std::max(most, m);
        }
        // The sum is right, or all belong fully, or as few as possible do.
        const bool floor = double(sigma[size_t(i)]) < 0.02;
        ok = ok && (std::abs(sum - target) < 1e-4 || least == 1 || floor || most == 0);
    }
    check(ok, "memberships");
    std::vector<T> rho3(n), sigma3(n);
    memberships(n, indptr.data(), distances.data(), target, 1.0, 3, rho3.data(), sigma3.data(),
                three.data());
    check(same_bits(one, three) && same_bits(rho, rho3) && same_bits(sigma, sigma3),
          "memberships with threads");
}

template <class T>
void test_fuzzy_union() {
    Random random(22);
    const int n = 60;
    std::vector<int64_t> indptr(1, 0);
    std::vector<int32_t> indices;
    std::vector<T> data, dense(size_t(n * n), T(0));
    for (int i = 0; i < n; ++i) {
        for (int j = n - 1; j >= 0; --j)
            if (i != j && random.whole(0, 5) == 0) {
                indices.push_back(j);
                data.push_back(T(random.whole(0, 4)) / 4);
                dense[size_t(i * n + j)] = data.back();
            }
        indptr.push_back(int64_t(indices.size()));
    }
    for (double mix : {0.0, 0.5, 1.0}) {
        const Csr<T> out = fuzzy_union<T>(n, indptr.data(), indices.data(), data.data(), T(mix), 3);
        std::vector<T> found(size_t(n * n), T(0));
        for (int i = 0; i < n; ++i)
            for (int64_t e = out.indptr[size_t(i)]; e < out.indptr[size_t(i) + 1]; ++e)
                found[size_t(i * n + out.indices[size_t(e)])] = out.data[size_t(e)];
        bool ok = std::none_of(out.data.begin(), out.data.end(), [](T v) { return v == T(0); });
        for (int i = 0; i < n; ++i)
            for (int j = 0; j < n; ++j) {
                const T a = dense[size_t(i * n + j)], b = dense[size_t(j * n + i)];
                ok = ok && close(found[size_t(i * n + j)],
                                 mix * double(a + b - a * b) + (1 - mix) * double(a * b));
            }
        check(ok, "fuzzy_union");
    }
}

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
double naive_epoch(const Csr<double>& graph, const LayoutStep<double>& step, int n, int dim,
                   const std::vector<double>& at, std::vector<double>& velocity,
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
            const double s = std::max(square_to(j), 1e-6), p = std::pow(s, step.b);
            const double w = graph.data[size_t(e)];
            double factor = 4 * w * step.a * step.b * p / (s * (1 + step.a * p));
            stiffness += factor;
            degree += w;
            loss += w * std::log(1 + step.a * p);
            if (step.by_radius) {
                const double near = 1 / (1 + step.a * p), bend = step.a * step.b * p * near / s;
                const double worth =
                    near * ((1 - step.b * (1 - near)) * (step.by_radius[i] + step.by_radius[j]) +
                            bend * (step.by_mass[i] + step.by_mass[j]));
                factor -= worth;
                stiffness += std::abs(worth);
            }
            for (int c = 0; c < dim; ++c) force[size_t(c)] += factor * gap_to(j, c);
        }
        const auto met = int(step.draws > 0 ? step.draws : step.n_fixed);
        const double share = step.repulsion * degree / met;
        for (int draw = 0; draw < met; ++draw) {
            const int64_t j =
                step.draws > 0
                    ? int64_t(naive_draw(uint32_t(i), step, draw, uint32_t(step.n_fixed)))
                    : draw;
            const double square = square_to(j), s = std::max(square, 1e-6);
            const double p = std::pow(s, step.b);
            const double push = 2 * step.b / ((square + 1e-3) * (1 + step.a * p));
            loss += share * std::log(1 + 1 / (step.a * p));
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
void test_layout(int n, int n_fixed, int dim, int draws, bool dense) {
    Random random(uint32_t(23 + n + dim));
    const bool among = n_fixed == 0;
    const int n_targets = among ? n : n_fixed;
    const Csr<T> graph = random_arcs<T>(random, n, n_targets, 9);
    Csr<double> exact{graph.indptr, graph.indices, {graph.data.begin(), graph.data.end()}};
    std::vector<int32_t> rank(static_cast<size_t>(n));
    std::iota(rank.begin(), rank.end(), 0);
    const OwnedAbreast<T> arcs = abreast(n, graph.indptr.data(), graph.indices.data(),
                                         graph.data.data(), rank.data(), among);
    const auto n_groups = int64_t(arcs.starts.size()) - 1;
    std::vector<T> y = random.reals<T>(n * dim), fixed = random.reals<T>(n_targets * dim);
    const std::vector<T> speed = random.reals<T>(n * dim);
    const std::vector<T> by_radius = random.reals<T>(n), by_mass = random.reals<T>(n);
    for (T& v : y) v *= 3;
    for (T& v : fixed) v *= 3;
    LayoutStep<T> step{};
    step.a = 1.6;
    step.b = 0.9;
    step.rate = 0.7;
    step.momentum = 0.4;
    step.repulsion = 5;
    step.fixed = among ? y.data() : fixed.data();
    step.n_fixed = n_targets;
    step.draws = draws;
    step.key = 12345;
    step.stride = among ? 0x9e3779b1u : 0u;
    step.by_radius = dense ? by_radius.data() : nullptr;
    step.by_mass = dense ? by_mass.data() : nullptr;
    const Abreast<T> view{arcs.members.data(), arcs.starts.data(), arcs.targets.data(),
                          arcs.weights.data()};
    std::vector<T> one(y.size()), three(y.size()), v1 = speed, v3 = speed;
    const double loss =
        layout_epoch(view, n_groups, step, y.data(), v1.data(), one.data(), dim, true, 1);
    const std::vector<double> at(y.begin(), y.end()), map(step.fixed, step.fixed + n_targets * dim);
    const std::vector<double> r64(by_radius.begin(), by_radius.end());
    const std::vector<double> m64(by_mass.begin(), by_mass.end());
    LayoutStep<double> plain{};
    plain.a = step.a;
    plain.b = step.b;
    plain.rate = step.rate;
    plain.momentum = step.momentum;
    plain.repulsion = step.repulsion;
    plain.fixed = map.data();
    plain.n_fixed = n_targets;
    plain.draws = draws;
    plain.key = step.key;
    plain.stride = step.stride;
    plain.by_radius = dense ? r64.data() : nullptr;
    plain.by_mass = dense ? m64.data() : nullptr;
    std::vector<double> velocity(speed.begin(), speed.end()), moved(at.size());
    const double wanted = naive_epoch(exact, plain, n, dim, at, velocity, moved);
    const double slack = sizeof(T) == 4 ? 2e-4 : 2e-6;
    bool ok = std::abs(loss - wanted) <= slack * (1 + std::abs(wanted));
    for (size_t i = 0; i < moved.size(); ++i)
        ok = ok && std::abs(double(one[i]) - moved[i]) <= slack &&
             std::abs(double(v1[i]) - velocity[i]) <= slack;
    check(ok, "layout_epoch");
    layout_epoch(view, n_groups, step, y.data(), v3.data(), three.data(), dim, false, 3);
    ok = true;  // sums without the loss may be rounded otherwise
    for (size_t i = 0; i < one.size(); ++i)
        ok = ok && std::abs(double(one[i]) - double(three[i])) <= slack;
    std::vector<T> again(y.size()), v = speed;
    layout_epoch(view, n_groups, step, y.data(), v.data(), again.data(), dim, false, 1);
    check(ok && same_bits(again, three) && same_bits(v, v3), "layout_epoch with threads");
}

template <class T>
void test_layout_radii() {
    Random random(24);
    const int n = 77, dim = 3;
    const Csr<T> graph = random_arcs<T>(random, n, n, 6);
    std::vector<int32_t> rank(n);
    for (int i = 0; i < n; ++i) rank[size_t(i)] = n - 1 - i;
    const OwnedAbreast<T> arcs =
        abreast(n, graph.indptr.data(), graph.indices.data(), graph.data.data(), rank.data(), true);
    const std::vector<T> y = random.reals<T>(n * dim);  // by rank
    std::vector<T> mass(n), spread(n);
    const Abreast<T> view{arcs.members.data(), arcs.starts.data(), arcs.targets.data(),
                          arcs.weights.data()};
    kernels<T>().layout_radii(view, y.data(), 1.6, 0.9, dim, 0, int64_t(arcs.starts.size()) - 1,
                              mass.data(), spread.data());
    bool ok = true;
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
        ok = ok && std::abs(double(mass[size_t(rank[size_t(i)])]) - near) < 1e-4 &&
             std::abs(double(spread[size_t(rank[size_t(i)])]) - weighted) < 1e-4;
    }
    check(ok, "layout_radii");
}

// --- neighbour embeddings ---------------------------------------------------------------------

template <class T>
void test_perplexity() {
    Random random(11);
    const std::vector<int64_t> indptr{0, 0, 1, 4, 40, 90};
    std::vector<T> squared = random.reals<T>(90), p(90), again(90);
    for (T& v : squared) v = v * v;
    std::vector<double> beta(5);
    perplexity_affinities<T>(indptr.data(), 5, squared.data(), 6.0, 1, p.data(), beta.data());
    perplexity_affinities<T>(indptr.data(), 5, squared.data(), 6.0, 3, again.data(), beta.data());
    check(same_bits(p, again), "perplexity_affinities with threads");
    for (size_t i = 1; i < 5; ++i) {
        double sum = 0, entropy = 0;
        for (int64_t e = indptr[i]; e < indptr[i + 1]; ++e) {
            const double v = double(p[size_t(e)]);
            sum += v;
            if (v > 0) entropy -= v * std::log(v);
        }
        check(std::abs(sum - 1) < 1e-5, "perplexity_affinities sum to one");
        const double wanted = std::log(std::min(6.0, double(indptr[i + 1] - indptr[i])));
        check(std::abs(entropy - wanted) < 1e-4, "perplexity_affinities have that entropy");
    }
}

// All pairs, the tree that opens every cell, and the attraction, against the formulas.
template <class T>
void test_forces(int n, int dim, const Similarity& kernel, bool weighted) {
    Random random(uint32_t(7 * n + dim));
    std::vector<T> y = random.reals<T>(n * dim), mass = random.reals<T>(n);
    for (T& v : y) v *= 3;
    for (T& m : mass) m = m * m + T(0.1);
    const T* own = weighted ? mass.data() : nullptr;
    std::vector<T> turned(y.size());
    for (int i = 0; i < n; ++i)
        for (int c = 0; c < dim; ++c) turned[size_t(c * n + i)] = y[size_t(i * dim + c)];
    std::vector<double> naive(y.size(), 0), naive_z(size_t(n), 0), naive_pull(y.size(), 0);
    double logs = 0;
    std::vector<int64_t> indptr(size_t(n) + 1);
    std::vector<int32_t> indices;
    std::vector<T> p;
    for (int i = 0; i < n; ++i) {
        for (int j = 0; j < n; ++j) {
            double s = 0;
            for (int c = 0; c < dim; ++c) {
                const double gap = double(y[size_t(i * dim + c)]) - double(y[size_t(j * dim + c)]);
                s += gap * gap;
            }
            const bool gaussian = kernel.likeness == Likeness::kGaussian;
            const double u = gaussian ? 1 : 1 / (1 + s / kernel.dof);
            const double w = gaussian ? std::exp(-s) : std::pow(u, (kernel.dof + 1) / 2);
            const double m = weighted ? double(mass[size_t(j)]) : 1.0;
            const double weight = (i + 2 * j) % 3 == 0 && i != j ? 0.5 + double(j) / n : 0.0;
            if (weight > 0) {
                indices.push_back(j);
                p.push_back(T(weight));
                logs += double(T(weight)) * std::log(w);
            }
            if (i != j) naive_z[size_t(i)] += m * w;
            for (int c = 0; c < dim; ++c) {
                const double gap = double(y[size_t(i * dim + c)]) - double(y[size_t(j * dim + c)]);
                naive[size_t(i * dim + c)] += m * w * u * gap;
                naive_pull[size_t(i * dim + c)] += double(T(weight)) * u * gap;
            }
        }
        indptr[size_t(i) + 1] = int64_t(indices.size());
    }
    auto agree = [&](const std::vector<T>& found, const std::vector<double>& wanted) {
        double error = 0, size = 0.1;  // what is less drowns in the point itself
        for (size_t k = 0; k < wanted.size(); ++k) {
            error = std::max(error, std::abs(double(found[k]) - wanted[k]));
            size = std::max(size, std::abs(wanted[k]));
        }
        return error <= 1e-4 * size;
    };
    std::vector<T> one(y.size()), three(y.size()), z(static_cast<size_t>(n)), z3(z);
    repulsion<T>(y.data(), n, turned.data(), own, n, dim, kernel, 1, one.data(), z.data());
    repulsion<T>(y.data(), n, turned.data(), own, n, dim, kernel, 3, three.data(), z3.data());
    check(same_bits(one, three) && same_bits(z, z3), "repulsion with threads");
    for (int i = 0; i < n; ++i) z[size_t(i)] -= weighted ? mass[size_t(i)] : T(1);
    check(agree(one, naive) && agree(z, naive_z), "repulsion");
    if (dim <= 3) {
        Tree<T>(y.data(), own, n, dim).repel(kernel, 0.0, 3, three.data(), z3.data());
        check(agree(three, naive) && agree(z3, naive_z), "a tree that opens every cell");
    }
    const double found = attraction<T>(indptr.data(), indices.data(), p.data(), y.data(), n, dim,
                                       kernel, true, 3, one.data());
    attraction<T>(indptr.data(), indices.data(), p.data(), y.data(), n, dim, kernel, false, 1,
                  three.data());
    check(agree(one, naive_pull) && agree(three, naive_pull), "attraction");
    check(std::abs(found - logs) <= 1e-4 * (1 + std::abs(logs)), "attraction's logarithms");
}

template <class T>
void test_convolution(int64_t rows, int64_t columns) {
    Random random(uint32_t(rows * 100 + columns));
    // A kernel of three by three around the origin has this transform.
    const int64_t kept = columns / 2 + 1;
    std::vector<T> transform(static_cast<size_t>(rows * kept));
    const double pi = 3.14159265358979323846;
    for (int64_t i = 0; i < rows; ++i)
        for (int64_t k = 0; k < kept; ++k)
            transform[size_t(i * kept + k)] =
                T((2 + std::cos(2 * pi * double(i) / double(rows))) *
                  (3 + std::cos(2 * pi * double(k) / double(columns))));
    const int64_t n = rows / 2, m = columns / 2;
    const std::vector<T> start = random.reals<T>(n * m);
    std::vector<T> one = start, three = start;
    Convolution<T> convolution(rows, columns, transform.data());
    convolution.apply(one.data(), n, m, 1);
    convolution.apply(three.data(), n, m, 3);
    check(same_bits(one, three), "convolution with threads");
    bool ok = true;
    auto at = [&](int64_t i, int64_t k) {
        return i < 0 || k < 0 || i >= n || k >= m ? 0.0 : double(start[size_t(i * m + k)]);
    };
    const double side[3] = {0.5, 2, 0.5}, across[3] = {0.5, 3, 0.5};
    for (int64_t i = 0; i < n; ++i)
        for (int64_t k = 0; k < m; ++k) {
            double sum = 0;
            for (int a = -1; a <= 1; ++a)
                for (int b = -1; b <= 1; ++b) sum += side[a + 1] * across[b + 1] * at(i + a, k + b);
            ok = ok && std::abs(double(one[size_t(i * m + k)]) - sum) < 1e-4;
        }
    check(ok, "convolution");
}

// What is spread over the nodes sums to the charges, and a linear field is read off exactly.
template <class T>
void test_grid(int dim) {
    Random random(uint32_t(40 + dim));
    const int n = 500;
    std::vector<T> y = random.reals<T>(n * dim), charge = random.reals<T>(n);
    const Grid grid{dim, 40, dim == 2 ? 44 : 1, dim == 2 ? 44 : 1, {-1.6, -1.7}, 0.08};
    std::vector<T> field(static_cast<size_t>(grid.rows * grid.stride)), again(field);
    spread<T>(y.data(), charge.data(), n, grid, 1, field.data());
    spread<T>(y.data(), charge.data(), n, grid, 3, again.data());
    check(same_bits(field, again), "spread with threads");
    double sum = 0, wanted = 0;
    for (T v : field) sum += double(v);
    for (T v : charge) wanted += double(v);
    check(std::abs(sum - wanted) < 1e-3, "spread keeps the charges");
    for (int64_t i = 0; i < grid.rows; ++i)
        for (int64_t k = 0; k < grid.columns; ++k)
            field[size_t(i * grid.stride + k)] = T(2 * double(i) - (dim == 2 ? double(k) : 0.0));
    std::vector<T> value(static_cast<size_t>(n)), gradient(y.size());
    gather<T>(field.data(), grid, y.data(), n, 3, value.data(), gradient.data());
    bool ok = true;
    for (int i = 0; i < n; ++i) {
        const double row = (double(y[size_t(i * dim)]) + 1.6) / 0.08;
        const double column = dim == 2 ? (double(y[size_t(2 * i + 1)]) + 1.7) / 0.08 : 0.0;
        ok = ok && std::abs(double(value[size_t(i)]) - (2 * row - column)) < 1e-2 &&
             std::abs(double(gradient[size_t(i * dim)]) - 25) < 1e-1;
    }
    check(ok, "gather");
    const std::vector<T> far(static_cast<size_t>(dim), T(1e30));  // held at the rim
    gather<T>(field.data(), grid, far.data(), 1, 1, value.data(), gradient.data());
    spread<T>(far.data(), nullptr, 1, grid, 1, field.data());
    check(std::isfinite(double(value[0])), "points beyond the grid");
}

template <class T>
void test_embedding() {
    test_perplexity<T>();
    for (const Similarity kernel :
         {Similarity{Likeness::kGaussian, 1}, Similarity{Likeness::kCauchy, 1},
          Similarity{Likeness::kStudent, 2.5}})
        for (int n : {1, 2, 17, 300})
            for (int dim : {1, 2, 3, 4})
                for (bool weighted : {false, true}) test_forces<T>(n, dim, kernel, weighted);
    test_convolution<T>(40, 36);
    test_convolution<T>(50, 60);
    test_convolution<T>(2, 64);
    for (int dim : {1, 2}) test_grid<T>(dim);
}

template <class T>
void test_all() {
    test_embedding<T>();
    test_coranking<T>();
    test_memberships<T>();
    test_fuzzy_union<T>();
    for (int n : {1, 15, 16, 17, 1100})
        for (int dim : {1, 2, 3, 5})
            for (bool dense : {false, true}) {
                test_layout<T>(n, 0, dim, 0, dense);
                test_layout<T>(n, 0, dim, 6, dense);
            }
    for (int dim : {1, 2, 3, 5}) {
        test_layout<T>(20, 50, dim, 0, false);
        test_layout<T>(1100, 50, dim, 6, false);
    }
    test_layout_radii<T>();
    for (int n : {1, 2, 33, 300, 1030, 8200})
        for (int dim : {1, 2, 3, 5}) {
            test_curvilinear<T>(n, dim, false);
            test_curvilinear<T>(n, dim, true);
        }
    test_offers<T>();
    test_products<T>();
    test_rerank<T>(false);
    test_rerank<T>(true);
    test_rerank_sparse<T>(false);
    test_rerank_sparse<T>(true);
    for (int64_t dim : {1, 5, 70})
        for (bool ties : {false, true}) test_cells<T>(dim, ties);
    for (int64_t width : {1, 32, 40, 64}) test_project<T>(width);
    test_symmetrize<T>();
    test_relax<T>();
    test_shortest_paths<T>();
    test_floyd_warshall<T>();
    test_barycentric<T>();
    for (int width = 1; width <= 17; ++width) {
        test_spmm<T>(width);
        test_narrow_matmul<T>(width, false);
        test_narrow_matmul<T>(width, true);
    }
    for (int n : {1, 2, 9, 256, 300})
        for (int dim : {1, 2, 3, 7})
            for (double scale : {1e-9, 1.0, 1e7}) test_stress<T>(n, dim, T(scale));
    for (int n : {1, 2, 40, 300})
        for (double epsilon : {0.0, 0.3}) test_sammon<T>(n, n % 3 + 1, epsilon);
    for (int n : {2, 3, 40, 270})
        for (int n_scales : {1, 2, 5})
            for (double trade_off : {0.0, 0.4, 1.0})
                test_divergence<T>(n, n % 3 + 1, n_scales, trade_off);
    test_place_by_divergence<T>();
    test_place_points<T>();
    test_meet_in_tiles<T>();
    test_isotonic<T>();
}

}  // namespace

int main() {
    test_parallel();
    test_level_structure();
    test_all<float>();
    test_all<double>();
    std::printf("%s: %d passed, %d failed\n", isa_name(), passed, failed);
    return failed == 0 ? 0 : 1;
}

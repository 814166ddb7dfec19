#include "lowdim/cells.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "testing.hpp"

using namespace lowdim;
using namespace testing;

namespace {

template <class T>
void check_cells(int64_t dim, bool ties) {
    const Case here("dim", dim, "ties", ties);
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
    std::vector<int32_t> self_places, probes;
    const int n_probes = 3;
    for (int64_t q = 0; q < n_queries; ++q) {
        self_places.push_back(q % 2 == 0 ? int32_t(q % n) : -1);
        const int first = random.whole(0, int(n_cells) - 1);
        for (int r = 0; r < n_probes; ++r)  // each cell once, some places empty
            probes.push_back(random.whole(0, 5) == 0 ? -1 : int32_t((first + r) % n_cells));
    }
    for (int m : {1, 7, 60, 500}) {
        std::vector<T> values(size_t(n_queries * m)), values_again(values.size());
        std::vector<int32_t> places(values.size()), places_again(values.size());
        search_cells<T>(cells, queries.data(), n_queries, self_places.data(), probes.data(),
                        n_probes, m, true, 1, values.data(), places.data());
        search_cells<T>(cells, queries.data(), n_queries, self_places.data(), probes.data(),
                        n_probes, m, true, 3, values_again.data(), places_again.data());
        CHECK_EQUAL(places, places_again);
        CHECK_SAME_BITS(values, values_again);
        for (int64_t q = 0; q < n_queries; ++q) {
            std::vector<std::pair<T, int32_t>> all;
            for (int r = 0; r < n_probes; ++r) {
                const int32_t cell = probes[size_t(q * n_probes + r)];
                if (cell < 0) continue;
                for (int64_t at = starts[size_t(cell)]; at < starts[size_t(cell + 1)]; ++at) {
                    if (at == self_places[size_t(q)]) continue;
                    T score = norms[size_t(order[size_t(at)])];
                    for (int64_t t = 0; t < dim; ++t)
                        score -= 2 * queries[size_t(q * dim + t)] *
                                 points[size_t(order[size_t(at)] * dim + t)];
                    all.emplace_back(score, int32_t(at));
                }
            }
            std::sort(all.begin(), all.end());
            all.resize(size_t(m), {kInf<T>, -1});
            std::vector<std::pair<T, int32_t>> found;
            for (size_t at = size_t(q * m); at < size_t((q + 1) * m); ++at)
                found.emplace_back(values[at], places[at]);
            CHECK_EQUAL(found, all);
        }
    }
}

template <class T>
void check_project(int64_t width) {
    const Case here("width", width);
    Random random(22);
    constexpr int P = kPanelPoints<float>;
    const int64_t n = 500, dim = 37, n_panels = (width + P - 1) / P;
    const std::vector<T> x = random.wholes<T>(n * dim, -9, 9),
                         center = random.wholes<T>(dim, -9, 9);
    std::vector<float> axes(size_t(n_panels * dim * P), 0.0F), out(size_t(n * (width + 1))),
        again(out);
    std::vector<float> squares(static_cast<size_t>(n)), squares_again(squares);
    for (int64_t c = 0; c < width; ++c)
        for (int64_t t = 0; t < dim; ++t)
            axes[size_t((c / P * dim + t) * P + c % P)] = float(random.whole(-3, 3));
    project_rows<T>(x.data(), n, dim, center.data(), T(0.5), axes.data(), width, 0.25F, 1,
                    out.data(), squares.data());
    project_rows<T>(x.data(), n, dim, center.data(), T(0.5), axes.data(), width, 0.25F, 3,
                    again.data(), squares_again.data());
    CHECK_SAME_BITS(out, again);
    CHECK_SAME_BITS(squares, squares_again);
    for (int64_t i = 0; i < n; ++i) {
        float square = 0;
        for (int64_t t = 0; t < dim; ++t) {
            const auto v = float(T(0.5) * (x[size_t(i * dim + t)] - center[size_t(t)]));
            square += v * v;
        }
        CHECK_EQUAL(square, squares[size_t(i)]);
        float kept = 0;
        for (int64_t c = 0; c < width; ++c) {
            float sum = 0;
            for (int64_t t = 0; t < dim; ++t)
                sum += float(T(0.5) * (x[size_t(i * dim + t)] - center[size_t(t)])) *
                       axes[size_t((c / P * dim + t) * P + c % P)];
            CHECK_EQUAL(sum, out[size_t(i * (width + 1) + c)]);
            kept += sum * sum;
        }
        const float rest = out[size_t(i * (width + 1) + width)];
        CHECK_EQUAL(rest, 0.5F * std::sqrt(std::max(square - kept, 0.0F)));
    }
}

TEST_FLOATS(searches_find_the_best_points_of_their_cells) {
    for (int64_t dim : {1, 5, 70})
        for (bool ties : {false, true}) check_cells<T>(dim, ties);
}

// More of the least value than a list keeps, and the next larger number: their mean may round to
// either of them.
TEST_FLOATS(lists_of_two_neighbouring_numbers) {
    T low = 1;
    for (int step = 0; step < 4; ++step) {
        const T high = std::nextafter(low, T(2));
        std::vector<T> values = {high, low, low, high, low, low, high, low};
        std::vector<int32_t> ids = {0, 7, 6, 5, 4, 3, 2, 1};
        std::vector<int32_t> counts = {int32_t(values.size())};
        std::vector<T> bounds = {high};
        const Shortlists<T> lists{values.data(), ids.data(), counts.data(),
                                  bounds.data(), 3,          int(values.size())};
        kernels<T>().cut_list(lists, 0);
        CHECK_EQUAL(counts[0], 3);
        std::sort(ids.begin(), ids.begin() + 3);
        CHECK_EQUAL(ids[0], 1);
        CHECK_EQUAL(ids[1], 3);
        CHECK_EQUAL(ids[2], 4);
        low = high;
    }
}

TEST_FLOATS(projections) {
    for (int64_t width : {1, 32, 40, 64}) check_project<T>(width);
}

TEST_FLOATS(means_of_cells) {
    const int64_t n = 20000, n_cells = 50, dim = 3;
    Random random(22);
    const std::vector<T> points = random.reals<T>(n * dim);
    std::vector<int32_t> owner;
    for (int64_t i = 0; i < n; ++i)
        owner.push_back(2 * random.whole(0, 24));  // odd cells are empty
    const CellOrder one = order_by_cell(owner.data(), n, n_cells, 1);
    const CellOrder three = order_by_cell(owner.data(), n, n_cells, 3);
    CHECK_EQUAL(one.order, three.order);
    CHECK_EQUAL(one.starts, three.starts);
    std::vector<T> means(size_t(n_cells * dim), T(7)), again(means);
    cell_means<T>(points.data(), one.order.data(), one.starts.data(), n_cells, dim, 1,
                  means.data());
    cell_means<T>(points.data(), one.order.data(), one.starts.data(), n_cells, dim, 3,
                  again.data());
    CHECK_SAME_BITS(means, again);
    size_t place = 0;
    for (int64_t c = 0; c < n_cells; ++c) {
        std::vector<double> sum(size_t(dim), 0.0);
        int64_t size = 0;
        CHECK_EQUAL(one.starts[size_t(c)], int64_t(place));
        for (int32_t i = 0; i < n; ++i)
            if (owner[size_t(i)] == c) {
                CHECK_EQUAL(one.order[place++], i);
                ++size;
                for (int64_t t = 0; t < dim; ++t)
                    sum[size_t(t)] += double(points[size_t(i * dim + t)]);
            }
        for (int64_t t = 0; t < dim; ++t)
            CHECK_CLOSE(means[size_t(c * dim + t)], size > 0 ? sum[size_t(t)] / double(size) : 7.0,
                        1e-4);
    }
}

}  // namespace

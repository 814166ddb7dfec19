// How the ranks of neighbours change from the data to the map; in Python quality/ranks.py.
#pragma once
#include "lowdim/coranking.hpp"
#include "neighbors.hpp"

namespace lowdim::wasm {

struct Quality {
    double rnx_auc, trustworthiness, continuity;
};

// All rows are compared with all others; of more than kExactUpTo, evenly spread ones.
inline Quality quality(const Matrix<double>& X, const Matrix<double>& Y, int64_t k) {
    constexpr int64_t kExactUpTo = 5000, kSampled = 1000;
    const int64_t n = X.rows, count = n <= kExactUpTo ? n : kSampled;
    std::vector<int32_t> grid(size_t(n - 1)), shared(grid.size());
    std::iota(grid.begin(), grid.end(), 1);
    std::vector<int32_t> near(size_t(4 * k));
    std::vector<int64_t> overlap(grid.size(), 0);
    std::vector<double> in_data(static_cast<size_t>(n)), on_map(in_data.size()), lost, intruded;
    const auto penalty = [&](const int32_t* ranks) {
        double beyond = 0;
        for (int64_t i = 0; i < k; ++i) beyond += double(std::max(ranks[i] - int32_t(k), 0));
        return beyond * 2 / (double(k) * (2.0 * double(n) - 3 * double(k) - 1));
    };
    for (int64_t r = 0; r < count; ++r) {
        const auto own = int32_t(r * n / count);
        squared_distances(X.row(own), 1, X.data.data(), n, X.cols, 1, in_data.data());
        squared_distances(Y.row(own), 1, Y.data.data(), n, Y.cols, 1, on_map.data());
        const Compared out{
            int(k),     near.data(), near.data() + k, near.data() + 2 * k, near.data() + 3 * k,
            int(n - 1), grid.data(), shared.data()};
        compare_orders(in_data.data(), on_map.data(), 1, n, &own, out, 1);
        for (size_t g = 0; g < grid.size(); ++g) overlap[g] += shared[g];
        lost.push_back(1 - penalty(out.first_ranks));
        intruded.push_back(1 - penalty(out.second_ranks));
    }
    double area = 0, weights = 0;
    for (int64_t K = 1; K < n - 1; ++K) {
        const double Q = double(overlap[size_t(K - 1)]) / (double(K) * double(count));
        area += ((double(n) - 1) * Q - double(K)) / double(n - 1 - K) / double(K);
        weights += 1 / double(K);
    }
    const auto mean = [&](const std::vector<double>& values) {
        return sum(count, [&](int64_t r) { return values[size_t(r)]; }) / double(count);
    };
    return {area / weights, mean(intruded), mean(lost)};
}

}  // namespace lowdim::wasm

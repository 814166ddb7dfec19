// UMAP; in Python neighbor_embedding/umap and starts.py.
#pragma once
#include "lowdim/fuzzy.hpp"
#include "lowdim/layout.hpp"
#include "neighbors.hpp"
#include "spectral_start.hpp"
#include "tsne.hpp"

namespace lowdim::wasm {

struct Umap {
    int64_t n_neighbors = 15, n_epochs = 500;
    double min_dist = 0.1;
    uint32_t seed = 0;
};

// a and b such that 1 / (1 + a d^2b) fits 1 up to min_dist and exp(min_dist - d) beyond: least
// squares by the method of Levenberg (1944).
inline UmapCurve fit_curve(double min_dist) {
    constexpr int64_t kPoints = 299;
    constexpr int kRounds = 200;
    std::vector<double> wanted, logs;
    for (int64_t k = 1; k <= kPoints; ++k) {
        const double d = k == kPoints ? 3 : double(k) * (3.0 / kPoints);
        wanted.push_back(d < min_dist ? 1 : exact_exp(min_dist - d));
        logs.push_back(exact_log(d));
    }
    using Values = std::vector<double>;
    const auto residuals = [&](double a, double b, Values& gaps, Values& by_a, Values& by_b) {
        gaps = by_a = by_b = Values(size_t(kPoints));
        for (size_t k = 0; k < size_t(kPoints); ++k) {
            const double powers = exact_exp(2 * b * logs[k]), similar = 1 / (1 + a * powers);
            gaps[k] = similar - wanted[k];
            by_a[k] = -similar * similar * powers;
            by_b[k] = 2 * a * logs[k] * by_a[k];
        }
    };
    const auto dot = [](const Values& x, const Values& y) {
        return sum(kPoints, [&](int64_t k) { return x[size_t(k)] * y[size_t(k)]; });
    };
    double a = 1, b = 1, damping = 1e-3;
    Values gaps, by_a, by_b, tried_gaps, tried_by_a, tried_by_b;
    residuals(a, b, gaps, by_a, by_b);
    double error = dot(gaps, gaps);
    for (int round = 0; round < kRounds; ++round) {
        const double aa = dot(by_a, by_a) * (1 + damping), bb = dot(by_b, by_b) * (1 + damping);
        const double ab = dot(by_a, by_b), ga = dot(by_a, gaps), gb = dot(by_b, gaps);
        const double size = aa * bb - ab * ab;
        const double tried_a = a - (bb * ga - ab * gb) / size;
        const double tried_b = b - (aa * gb - ab * ga) / size;
        residuals(tried_a, tried_b, tried_gaps, tried_by_a, tried_by_b);
        const double lower = dot(tried_gaps, tried_gaps);
        if (!(tried_a > 0 && tried_b > 0 && lower <= error)) {
            damping *= 10;
            continue;
        }
        const double change = std::abs(tried_a - a) + std::abs(tried_b - b);
        a = tried_a;
        b = tried_b;
        gaps = tried_gaps;
        by_a = tried_by_a;
        by_b = tried_by_b;
        error = lower;
        damping /= 10;
        if (change < 1e-12) break;
    }
    return {a, b};
}

// The extent of a start along each of its axes, in units of the width of the kernel; see
// `spread_extents` in Python.
template <class T>
std::vector<double> spread_extents(const Matrix<T>& start, const Csr<double>& graph) {
    constexpr double kExtent = 13, kLong = 26, kSpacing = 0.25, kShort = 0.5;
    constexpr int64_t kEdges = 200'000;
    const auto edges = int64_t(graph.data.size()), count = std::min(edges, kEdges);
    const double root = std::sqrt(double(start.rows));
    const double largest = std::max(kSpacing / (1 / root), kLong);
    std::vector<int64_t> chosen;
    const double gap = count > 1 ? double(edges - 1) / double(count - 1) : 0;
    for (int64_t k = 0; k < count; ++k)
        chosen.push_back(k + 1 == count ? edges - 1 : int64_t(double(k) * gap));
    const std::vector<T> ranges = extents(start);
    std::vector<double> out;
    for (int64_t j = 0; j < start.cols; ++j) {
        std::vector<T> lengths;
        size_t head = 0;
        for (const int64_t e : chosen) {
            while (graph.indptr[head + 1] <= e) ++head;
            lengths.push_back(
                std::abs(start(int64_t(head), j) - start(graph.indices[size_t(e)], j)));
        }
        const T range = ranges[size_t(j)] > 0 ? ranges[size_t(j)] : T(1);
        const double excess = std::max(double(median(lengths) / range) * root / kShort, 1.0);
        out.push_back(std::max(largest / (excess * excess * excess), kExtent));
    }
    return out;
}

inline std::vector<int32_t> order_along_first(const Matrix<double>& Y) {
    std::vector<int32_t> order(static_cast<size_t>(Y.rows));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](int32_t i, int32_t j) { return Y(i, 0) < Y(j, 0); });
    return order;
}

// A start scaled to its extents and centred at 0, with a little noise.
inline Matrix<double> spread_out(const SpectralStart& start, const Csr<double>& graph,
                                 const UmapCurve& curve, Random& random) {
    constexpr double kNoise = 1e-5;
    const Matrix<double>& Y = start.places;
    const double half = exact_exp(std::clamp(-exact_log(curve.a) / (2 * curve.b), -5.0, 5.0));
    const std::vector<double> sizes =
        start.single ? spread_extents(Matrix<float>(Y), graph) : spread_extents(Y, graph);
    const std::vector<int32_t> order = order_along_first(Y);
    const Matrix<double> noise = random.normal(Y.rows, Y.cols);
    Matrix<double> out(Y.rows, Y.cols);
    for (int64_t j = 0; j < Y.cols; ++j) {
        double low = Y(0, j), high = low;
        for (int64_t i = 0; i < Y.rows; ++i) {
            low = std::min(low, Y(i, j));
            high = std::max(high, Y(i, j));
        }
        const double width = high > low ? high - low : 1;
        for (int64_t k = 0; k < Y.rows; ++k) {
            const int64_t i = order[size_t(k)];
            out(i, j) = ((Y(i, j) - (low + high) / 2) / width + kNoise * noise(k, j)) *
                        (half * sizes[size_t(j)]);
        }
    }
    return out;
}

inline Matrix<double> umap(const Matrix<double>& X, int64_t dim, const Umap& options,
                           const Report& report) {
    constexpr int64_t kAllPairsUpTo = 512, kReports = 10;
    constexpr int kNegatives = 16;
    constexpr double kNegativeRate = 5, kTravel = 4000;
    const int64_t n = X.rows, k = std::min(options.n_neighbors, n);
    Random random(Random(options.seed).seed());
    const Csr<double> arcs = nearest(X, k - 1);
    std::vector<double> values(arcs.data.size()), rho(static_cast<size_t>(n)), sigma(rho.size());
    memberships<double>(n, arcs.indptr.data(), arcs.data.data(),
                        exact_log(double(k)) / exact_log(2.0), 1, 1, rho.data(), sigma.data(),
                        values.data());
    const Csr<double> graph =
        fuzzy_union<double>(n, arcs.indptr.data(), arcs.indices.data(), values.data(), 1, 1);
    const UmapCurve curve = fit_curve(options.min_dist);
    const Matrix<double> start =
        spread_out(spectral_start(graph, dim, random, X), graph, curve, random);
    const uint32_t seed = random.seed();
    // Vertices are sorted along the first axis, so that neighbours are near in memory.
    const std::vector<int32_t> order = order_along_first(start);
    std::vector<int32_t> rank(order.size());
    Matrix<double> Y(n, dim), velocity(n, dim), placed(n, dim);
    for (int64_t r = 0; r < n; ++r) {
        rank[size_t(order[size_t(r)])] = int32_t(r);
        std::copy_n(start.row(order[size_t(r)]), dim, Y.row(r));
    }
    const auto groups = group_vertices<double>(n, graph.indptr.data(), graph.indices.data(),
                                               graph.data.data(), rank.data(), true, 1);
    LayoutStep<double> step{};
    step.repulsion = kNegativeRate;
    step.n_fixed = n;
    step.n_negatives = n <= kAllPairsUpTo ? 0 : kNegatives;
    step.stride = kVertexStride;
    const double momentum =
        n <= kAllPairsUpTo ? 0.8 : std::clamp(1 - double(options.n_epochs) / kTravel, 0.5, 0.95);
    for (int64_t epoch = 0; epoch < options.n_epochs || epoch == 0;) {
        const int64_t last = std::min(epoch + kReports, options.n_epochs);
        layout_epochs(groups.view(), curve, step,
                      {epoch, last, options.n_epochs, 1, momentum, seed}, Y.data.data(),
                      velocity.data.data(), n, int(dim), false, 1);
        for (int64_t r = 0; r < n; ++r) std::copy_n(Y.row(r), dim, placed.row(order[size_t(r)]));
        if (report) report(last, placed);
        if (last == options.n_epochs) break;
        epoch = last;
    }
    return placed;
}

}  // namespace lowdim::wasm

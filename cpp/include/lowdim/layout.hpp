// Layouts of a weighted graph under a force law: every vertex moves by itself, from where all
// vertices were before the step, so that the result does not depend on the number of threads.
#pragma once
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "lowdim/buckets.hpp"
#include "lowdim/elementary.hpp"
#include "lowdim/kernels.hpp"
#include "lowdim/parallel.hpp"

namespace lowdim {

template <class T>
struct OwnedVertexGroups {
    Buffer<int32_t> members;
    Buffer<int64_t> starts;
    Buffer<int32_t> targets;
    Buffer<T> weights;

    VertexGroups<T> view() const {
        return {int64_t(starts.size()) - 1, members.data(), starts.data(), targets.data(),
                weights.data()};
    }
};

// Groups of kGroupSize vertices with similar numbers of arcs. Vertex i is renamed to rank[i], and
// so are its targets if these are vertices too. Vertices are sorted by
// their number of arcs within windows only, so that near ranks stay near in memory.
template <class T>
OwnedVertexGroups<T> group_vertices(int64_t n, const int64_t* indptr, const int32_t* indices,
                                    const T* data, const int32_t* rank, bool targets_are_vertices,
                                    int n_threads) {
    constexpr int64_t kWindow = 1024;
    std::vector<int32_t> vertex(static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i) vertex[size_t(rank[i])] = int32_t(i);
    const auto arcs = [&](int32_t r) {
        const int32_t i = vertex[size_t(r)];
        return indptr[i + 1] - indptr[i];
    };
    const int64_t n_groups = (n + kGroupSize - 1) / kGroupSize;
    OwnedVertexGroups<T> out;
    out.members.assign(size_t(n_groups * kGroupSize), -1);
    std::iota(out.members.begin(), out.members.begin() + n, 0);
    parallel_ranges(n, kWindow, n_threads, [&](int64_t begin, int64_t end, int) {
        std::stable_sort(out.members.begin() + begin, out.members.begin() + end,
                         [&](int32_t p, int32_t q) { return arcs(p) > arcs(q); });
    });
    out.starts.assign(size_t(n_groups) + 1, 0);
    for (int64_t g = 0; g < n_groups; ++g)
        out.starts[size_t(g) + 1] =
            out.starts[size_t(g)] + arcs(out.members[size_t(g * kGroupSize)]);
    const auto size = size_t(out.starts.back() * kGroupSize);
    out.targets.resize(size);
    out.weights.resize(size);
    parallel_ranges(
        n_groups * kGroupSize, 64 * kGroupSize, n_threads, [&](int64_t begin, int64_t end, int) {
            for (int64_t lane = begin; lane < end; ++lane) {
                const int64_t g = lane / kGroupSize, l = lane % kGroupSize;
                const int32_t r = out.members[size_t(lane)];
                const int64_t count = r < 0 ? 0 : arcs(r);
                const int64_t first = r < 0 ? 0 : indptr[vertex[size_t(r)]];
                for (int64_t s = out.starts[size_t(g)]; s < out.starts[size_t(g) + 1]; ++s) {
                    const int64_t arc = s - out.starts[size_t(g)];
                    const auto place = size_t(s * kGroupSize + l);
                    const int32_t j = arc < count ? indices[first + arc] : 0;
                    const int32_t none = targets_are_vertices && r >= 0 ? r : 0;
                    out.targets[place] = arc >= count ? none : targets_are_vertices ? rank[j] : j;
                    out.weights[place] = arc < count ? data[first + arc] : T(0);
                }
            }
        });
    return out;
}

// The table of x^b: the polynomial goes through the powers at Chebyshev's points between 1 and 2
// (by divided differences), and is right to 5e-7 for b up to 10. Powers are at most 2^120.
inline PowerTable power_table(double b) {
    PowerTable table;
    table.squared = b > 4;
    const double most = table.squared ? 60 : 120;
    if (table.squared) b /= 2;
    for (int o = 0; o < kOctaves; ++o)
        table.octaves[o] = exact_power(2, std::clamp(b * (kFirstOctave + o), -most, most - b));
    double at[kPowerTerms], differences[kPowerTerms];
    for (int k = 0; k < kPowerTerms; ++k) {
        at[k] = RootOfUnity(2 * k + 1, 4 * kPowerTerms).cos / 2;
        differences[k] = exact_power(1.5 + at[k], b);
    }
    for (int step = 1; step < kPowerTerms; ++step)
        for (int k = kPowerTerms - 1; k >= step; --k)
            differences[k] = (differences[k] - differences[k - 1]) / (at[k] - at[k - step]);
    std::fill(table.terms, table.terms + kPowerTerms, 0.0);
    for (int k = kPowerTerms - 1; k >= 0; --k) {  // terms = terms * (x - at[k]) + differences[k]
        for (int t = kPowerTerms - 1; t > 0; --t)
            table.terms[t] = table.terms[t - 1] - at[k] * table.terms[t];
        table.terms[0] = differences[k] - at[k] * table.terms[0];
    }
    return table;
}
inline UmapCurve::UmapCurve(double scale, double exponent, double most)
    : a(scale), b(exponent), largest(most), powers(power_table(exponent)) {}

// The kernel of a force law, found by the type of its parameters. A new law adds an overload.
template <class T>
auto layout_kernel(const UmapCurve&) {
    return kernels<T>().umap_step;
}

inline constexpr int64_t kLayoutChunk = 32;  // groups that a thread takes at once

// LayoutStep::stride of vertices that draw their own targets: 2^32 over the golden ratio, which
// spreads consecutive numbers evenly.
inline constexpr uint32_t kVertexStride = 0x9e3779b1u;

// One step of all vertices; writes their new coordinates to `moved`. Returns the loss if asked for.
template <class T, class Law>
double layout_epoch(const VertexGroups<T>& graph, const Law& law, const LayoutStep<T>& step,
                    const T* at, T* velocity, T* moved, int dim, bool loss, int n_threads) {
    const int64_t n_chunks = (graph.n_groups + kLayoutChunk - 1) / kLayoutChunk;
    std::vector<double> losses(size_t(n_chunks), 0.0);
    const auto kernel = layout_kernel<T>(law);
    parallel_ranges(graph.n_groups, kLayoutChunk, n_threads, [&](int64_t begin, int64_t end, int) {
        std::vector<T> scratch(size_t(3 * dim * kGroupSize));
        losses[size_t(begin / kLayoutChunk)] =
            kernel(graph, law, step, at, velocity, moved, dim, begin, end, loss, scratch.data());
    });
    return std::accumulate(losses.begin(), losses.end(), 0.0);
}

// Epochs [first, last) of a schedule: rate and momentum fall linearly to 0 at epoch `total`, so
// that a map that moves far at first comes to rest.
struct LayoutRun {
    int64_t first, last, total;
    double rate, momentum;
    uint32_t seed;
};

// Runs the epochs, y and velocity in place. Where `step.fixed` is null, the targets are the
// vertices themselves. Returns the loss before the last epoch if asked for.
template <class T, class Law>
double layout_epochs(const VertexGroups<T>& graph, const Law& law, LayoutStep<T> step,
                     const LayoutRun& run, T* y, T* velocity, int64_t n, int dim, bool loss,
                     int n_threads) {
    std::vector<T> spare(size_t(n * dim));
    T *at = y, *moved = spare.data();
    const bool targets_are_vertices = step.fixed == nullptr;
    double found = 0;
    for (int64_t epoch = run.first; epoch < run.last; ++epoch) {
        if (targets_are_vertices) step.fixed = at;
        const double left = 1 - double(epoch) / double(run.total);
        step.rate = run.rate * left;
        step.momentum = run.momentum * left;
        step.key = run.seed + uint32_t(epoch) * 0x9e3779b9u;
        found = layout_epoch(graph, law, step, at, velocity, moved, dim,
                             loss && epoch + 1 == run.last, n_threads);
        std::swap(at, moved);
    }
    if (at != y) std::copy(at, at + n * dim, y);
    return found;
}

// For densMAP: the sum of the similarities over each vertex's arcs, and of similarity times squared
// distance.
template <class T>
void layout_radii(const VertexGroups<T>& graph, const UmapCurve& law, const T* at, int dim,
                  int n_threads, T* mass, T* spread) {
    parallel_ranges(graph.n_groups, kLayoutChunk, n_threads, [&](int64_t begin, int64_t end, int) {
        kernels<T>().umap_radii(graph, law, at, dim, begin, end, mass, spread);
    });
}

}  // namespace lowdim

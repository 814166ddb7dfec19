// The cross-entropy layout of a weighted graph: every vertex is moved by itself, from where all
// stood before the step, so that neither threads nor their number matter.
#pragma once
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "lowdim/kernels.hpp"
#include "lowdim/parallel.hpp"

namespace lowdim {

template <class T>
struct OwnedAbreast {
    std::vector<int32_t> members;
    std::vector<int64_t> starts;
    std::vector<int32_t> targets;
    std::vector<T> weights;
};

// Vertices in groups of kAbreast, those of like numbers of arcs together. Vertex i is renamed to
// rank[i] (as are its targets, if `both`), and like ranks stay near each other, for the caches.
template <class T>
OwnedAbreast<T> abreast(int64_t n, const int64_t* indptr, const int32_t* indices, const T* data,
                        const int32_t* rank, bool both) {
    constexpr int64_t kWindow = 1024;
    std::vector<int32_t> vertex(static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i) vertex[size_t(rank[i])] = int32_t(i);
    const auto arcs = [&](int32_t r) {
        const int32_t i = vertex[size_t(r)];
        return indptr[i + 1] - indptr[i];
    };
    const int64_t n_groups = (n + kAbreast - 1) / kAbreast;
    OwnedAbreast<T> out;
    out.members.assign(size_t(n_groups * kAbreast), -1);
    std::iota(out.members.begin(), out.members.begin() + n, 0);
    for (int64_t begin = 0; begin < n; begin += kWindow)
        std::stable_sort(out.members.begin() + begin,
                         out.members.begin() + std::min(n, begin + kWindow),
                         [&](int32_t p, int32_t q) { return arcs(p) > arcs(q); });
    out.starts.assign(size_t(n_groups) + 1, 0);
    for (int64_t g = 0; g < n_groups; ++g)
        out.starts[size_t(g) + 1] = out.starts[size_t(g)] + arcs(out.members[size_t(g * kAbreast)]);
    const auto size = size_t(out.starts.back() * kAbreast);
    out.targets.assign(size, 0);
    out.weights.assign(size, T(0));
    for (int64_t g = 0; g < n_groups; ++g)
        for (int l = 0; l < kAbreast; ++l) {
            const int32_t r = out.members[size_t(g * kAbreast + l)];
            const int64_t count = r < 0 ? 0 : arcs(r),
                          first = r < 0 ? 0 : indptr[vertex[size_t(r)]];
            for (int64_t s = out.starts[size_t(g)]; s < out.starts[size_t(g) + 1]; ++s) {
                const int64_t arc = s - out.starts[size_t(g)];
                const auto place = size_t(s * kAbreast + l);
                if (arc < count) {
                    const int32_t j = indices[first + arc];
                    out.targets[place] = both ? rank[j] : j;
                    out.weights[place] = data[first + arc];
                } else if (both && r >= 0) {
                    out.targets[place] = r;
                }
            }
        }
    return out;
}

inline constexpr int64_t kLayoutChunk = 32;  // groups a thread takes at once

// One step of all vertices; `moved` gets their new places. Returns the cross-entropy if asked for.
template <class T>
double layout_epoch(const Abreast<T>& graph, int64_t n_groups, const LayoutStep<T>& step,
                    const T* at, T* velocity, T* moved, int dim, bool loss, int n_threads) {
    const int64_t n_chunks = (n_groups + kLayoutChunk - 1) / kLayoutChunk;
    std::vector<double> losses(size_t(n_chunks), 0.0);
    parallel_ranges(n_groups, kLayoutChunk, n_threads, [&](int64_t begin, int64_t end, int) {
        std::vector<T> scratch(size_t(3 * dim * kAbreast));
        losses[size_t(begin / kLayoutChunk)] = kernels<T>().layout_step(
            graph, step, at, velocity, moved, dim, begin, end, loss, scratch.data());
    });
    return std::accumulate(losses.begin(), losses.end(), 0.0);
}

// The numbers of a run of epochs. Rate and momentum fall linearly to 0 at epoch `total`: a map that
// moves far at first comes to rest.
struct LayoutRun {
    int64_t first, last, total;
    double rate, momentum;
    uint32_t seed;
};

// Epochs [run.first, run.last), y and velocity in place. Where `step.fixed` is null, the vertices
// are each other's targets. Returns the cross-entropy before the last epoch if asked for.
template <class T>
double layout_epochs(const Abreast<T>& graph, int64_t n_groups, LayoutStep<T> step,
                     const LayoutRun& run, T* y, T* velocity, int64_t n, int dim, bool loss,
                     int n_threads) {
    std::vector<T> spare(size_t(n * dim));
    T *at = y, *moved = spare.data();
    const bool among = step.fixed == nullptr;
    double found = 0;
    for (int64_t epoch = run.first; epoch < run.last; ++epoch) {
        if (among) step.fixed = at;
        const double left = 1 - double(epoch) / double(run.total);
        step.rate = run.rate * left;
        step.momentum = run.momentum * left;
        step.key = run.seed + uint32_t(epoch) * 0x9e3779b9u;
        found = layout_epoch(graph, n_groups, step, at, velocity, moved, dim,
                             loss && epoch + 1 == run.last, n_threads);
        std::swap(at, moved);
    }
    if (at != y) std::copy(at, at + n * dim, y);
    return found;
}

}  // namespace lowdim

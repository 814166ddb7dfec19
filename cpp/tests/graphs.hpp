// Graphs for tests.
#pragma once
#include <cmath>
#include <vector>

#include "lowdim/geodesics.hpp"
#include "lowdim/graph.hpp"
#include "testing.hpp"

namespace testing {

template <class T>
struct Arc {
    int32_t from, to;
    T length;
};

template <class T>
lowdim::Csr<T> from_arcs(int64_t n, const std::vector<Arc<T>>& arcs) {
    lowdim::Csr<T> csr;
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
lowdim::Graph<T> view(const lowdim::Csr<T>& csr) {
    return {int64_t(csr.indptr.size()) - 1, csr.indptr.data(), csr.indices.data(), csr.data.data()};
}

enum class Lengths { kWhole, kZero, kReal, kUneven };

// Arcs may occur twice, and may be loops.
template <class T>
lowdim::Csr<T> random_graph(int n, int n_arcs, Lengths kind, bool directed, uint32_t seed) {
    Random random(seed);
    std::vector<Arc<T>> arcs;
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

}  // namespace testing

// Isotonic regression by pooling adjacent violators, in linear time (Kruskal 1964; Barlow et al.
// 1972). Stretches of fixed length are pooled on their own, in parallel, then their blocks are
// pooled with each other: the result does not depend on the order in which violators are pooled.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "lowdim/parallel.hpp"

namespace lowdim {

struct PooledBlock {
    double sum, weight;
    int64_t end;  // one past its last item
};

// Compares means by products: a division for every comparison would take most of the time.
inline void pool(std::vector<PooledBlock>& stack, PooledBlock block) {
    while (!stack.empty() && stack.back().sum * block.weight >= block.sum * stack.back().weight) {
        block.sum += stack.back().sum;
        block.weight += stack.back().weight;
        stack.pop_back();
    }
    stack.push_back(block);
}

// Weighted least squares among sequences that do not decrease; weights null: all one.
template <class T>
void isotonic(const T* values, const T* weights, int64_t n, int n_threads, T* out) {
    constexpr int64_t kStretch = 1 << 15;
    const int64_t count = (n + kStretch - 1) / kStretch;
    std::vector<std::vector<PooledBlock>> parts{static_cast<size_t>(count)};
    parallel_ranges(n, kStretch, n_threads, [&](int64_t begin, int64_t end, int) {
        auto& stack = parts[size_t(begin / kStretch)];
        for (int64_t k = begin; k < end; ++k) {
            const double weight = weights ? double(weights[k]) : 1.0;
            pool(stack, {weight * double(values[k]), weight, k + 1});
        }
    });
    std::vector<PooledBlock> blocks;
    for (const auto& part : parts)
        for (const PooledBlock& block : part) pool(blocks, block);
    int64_t begin = 0;
    for (const PooledBlock& block : blocks) {
        std::fill(out + begin, out + block.end,
                  T(block.weight > 0 ? block.sum / block.weight : 0.0));
        begin = block.end;
    }
}

// The same where items [starts[b], starts[b + 1]) are tied: the primary approach orders
// tied items by their own values, the secondary keeps them equal.
template <class T>
void isotonic_with_ties(const T* values, const T* weights, int64_t n, const int64_t* starts,
                        int64_t n_ties, bool primary, int n_threads, T* out) {
    auto weight = [&](int64_t k) { return weights ? weights[k] : T(1); };
    if (primary) {
        std::vector<int64_t> order(static_cast<size_t>(n));
        std::iota(order.begin(), order.end(), int64_t(0));
        parallel_ranges(n_ties, 256, n_threads, [&](int64_t begin, int64_t end, int) {
            for (int64_t b = begin; b < end; ++b)
                if (starts[b + 1] - starts[b] > 1)
                    std::sort(order.begin() + starts[b], order.begin() + starts[b + 1],
                              [&](int64_t p, int64_t q) {
                                  return values[p] < values[q] || (values[p] == values[q] && p < q);
                              });
        });
        std::vector<T> sorted(static_cast<size_t>(n)), mass(static_cast<size_t>(n));
        for (int64_t k = 0; k < n; ++k) {
            sorted[size_t(k)] = values[order[size_t(k)]];
            mass[size_t(k)] = weight(order[size_t(k)]);
        }
        isotonic<T>(sorted.data(), mass.data(), n, n_threads, sorted.data());
        for (int64_t k = 0; k < n; ++k) out[order[size_t(k)]] = sorted[size_t(k)];
        return;
    }
    std::vector<T> means(static_cast<size_t>(n_ties)), masses(static_cast<size_t>(n_ties));
    for (int64_t b = 0; b < n_ties; ++b) {
        double sum = 0, mass = 0, plain = 0;
        for (int64_t k = starts[b]; k < starts[b + 1]; ++k) {
            sum += double(weight(k)) * double(values[k]);
            mass += double(weight(k));
            plain += double(values[k]);
        }
        const double items = double(std::max<int64_t>(starts[b + 1] - starts[b], 1));
        means[size_t(b)] = T(mass > 0 ? sum / mass : plain / items);
        masses[size_t(b)] = T(mass);
    }
    isotonic<T>(means.data(), masses.data(), n_ties, n_threads, means.data());
    for (int64_t b = 0; b < n_ties; ++b)
        std::fill(out + starts[b], out + starts[b + 1], means[size_t(b)]);
}

}  // namespace lowdim

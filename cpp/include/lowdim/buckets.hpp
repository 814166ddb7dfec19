// Arrays that are filled right after they are made, and items divided into buckets, on several
// threads.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "lowdim/parallel.hpp"

namespace lowdim {

// Leaves numbers uninitialised, so that memory is touched first by the threads that fill it.
template <class T>
struct Uninitialized : std::allocator<T> {
    Uninitialized() = default;
    template <class U>
    Uninitialized(const Uninitialized<U>&) {}
    template <class U>
    struct rebind {
        using other = Uninitialized<U>;
    };
    template <class U, class... Arguments>
    void construct(U* at, Arguments&&... arguments) {
        if constexpr (sizeof...(Arguments) == 0)
            ::new (static_cast<void*>(at)) U;
        else
            ::new (static_cast<void*>(at)) U(std::forward<Arguments>(arguments)...);
    }
};

template <class T>
using Buffer = std::vector<T, Uninitialized<T>>;

// Sorts items by their bucket; items of a bucket stay in order. visit(block, emit) must call
// emit(bucket, item) for the items of a block in order, and is called twice for each block. Then
// put(place, item) is called once for each item. Returns the first place of each bucket, and the
// number of items.
template <class Visit, class Put>
std::vector<int64_t> sort_into_buckets(int64_t n_blocks, int64_t n_buckets, int n_threads,
                                       Visit&& visit, Put&& put) {
    std::vector<int64_t> places(size_t(n_blocks * n_buckets), 0);  // first counts, then places
    parallel_chunks(n_blocks, n_threads, [&](int64_t block, int) {
        int64_t* own = places.data() + block * n_buckets;
        visit(block, [own](int64_t bucket, const auto&) { ++own[bucket]; });
    });
    std::vector<int64_t> starts(size_t(n_buckets) + 1, 0);
    int64_t total = 0;
    for (int64_t bucket = 0; bucket < n_buckets; ++bucket) {
        starts[size_t(bucket)] = total;
        for (int64_t block = 0; block < n_blocks; ++block)
            total += std::exchange(places[size_t(block * n_buckets + bucket)], total);
    }
    starts[size_t(n_buckets)] = total;
    parallel_chunks(n_blocks, n_threads, [&](int64_t block, int) {
        int64_t* own = places.data() + block * n_buckets;
        visit(block, [own, &put](int64_t bucket, const auto& item) { put(own[bucket]++, item); });
    });
    return starts;
}

}  // namespace lowdim

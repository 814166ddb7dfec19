// Arrays that begin at the boundary of a cache line.
#pragma once
#include <cstddef>
#include <new>
#include <vector>

namespace lowdim {

inline constexpr size_t kCacheLine = 64;  // bytes; also the width of a register of AVX-512

template <class T>
struct CacheLineAllocator {
    using value_type = T;

    CacheLineAllocator() = default;
    template <class U>
    CacheLineAllocator(const CacheLineAllocator<U>&) {}

    T* allocate(size_t n) {
        return static_cast<T*>(::operator new(n * sizeof(T), std::align_val_t(kCacheLine)));
    }
    void deallocate(T* p, size_t) { ::operator delete(p, std::align_val_t(kCacheLine)); }

    template <class U>
    bool operator==(const CacheLineAllocator<U>&) const {
        return true;
    }
};

// For kernels that would otherwise read and write registers across two cache lines.
template <class T>
using AlignedVector = std::vector<T, CacheLineAllocator<T>>;

}  // namespace lowdim

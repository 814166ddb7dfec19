// Loops over fixed chunks on several threads. Which thread runs a chunk may vary; what a chunk
// computes does not, so results are the same bits for any number of threads.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>

#include "lowdim/pool.hpp"

namespace lowdim {

struct NoScope {
    NoScope() {}  // not trivial, so that compilers do not call the variable unused
};

// Calls work(chunk, thread) for every chunk in [0, n_chunks), on at most n_threads threads. Each of
// them holds a Scope during its part of the loop. If chunks throw, the exception of the first of
// them, which does not depend on the number of threads, is passed on, and later chunks may be left
// out.
template <class Scope = NoScope, class Work>
void parallel_chunks(int64_t n_chunks, int n_threads, Work&& work) {
    const int wanted = static_cast<int>(std::min<int64_t>(std::max(n_threads, 1), n_chunks));
    if (wanted <= 1) {
        [[maybe_unused]] const Scope scope;
        for (int64_t c = 0; c < n_chunks; ++c) work(c, 0);
        return;
    }
    Pool& threads = pool();
    std::atomic<int64_t> next{0};
    std::exception_ptr failure;
    int64_t failed = n_chunks;
    std::mutex failure_lock;
    auto loop = [&](int thread) {
        [[maybe_unused]] const Scope scope;
        for (int64_t c; (thread == 0 || !threads.closing()) && (c = next.fetch_add(1)) < n_chunks;)
            try {
                work(c, thread);
            } catch (...) {
                next = n_chunks;
                const std::lock_guard<std::mutex> hold(failure_lock);
                if (c < failed) {
                    failed = c;
                    failure = std::current_exception();
                }
            }
    };
    threads.run(wanted, {[](void* context, int thread) {
                             (*static_cast<decltype(loop)*>(context))(thread);
                         },
                         std::addressof(loop)});
    if (failure) std::rethrow_exception(failure);
}

// Calls work(begin, end, thread) over [0, n) in chunks of a size that depends on n alone.
template <class Work>
void parallel_ranges(int64_t n, int64_t chunk, int n_threads, Work&& work) {
    const int64_t n_chunks = (n + chunk - 1) / chunk;
    parallel_chunks(n_chunks, n_threads, [&](int64_t c, int thread) {
        work(c * chunk, std::min(n, (c + 1) * chunk), thread);
    });
}

}  // namespace lowdim

// Plain threads over fixed chunks. Which thread runs a chunk may vary; what a chunk computes
// does not, so results are the same bits for any number of threads.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace lowdim {

// Calls work(chunk, thread) for every chunk in [0, n_chunks). No thread outlives the call.
template <class Work>
void parallel_chunks(int64_t n_chunks, int n_threads, Work&& work) {
    const int workers = static_cast<int>(std::min<int64_t>(std::max(n_threads, 1), n_chunks));
    if (workers <= 1) {
        for (int64_t c = 0; c < n_chunks; ++c) work(c, 0);
        return;
    }
    std::atomic<int64_t> next{0};
    std::exception_ptr failure;
    std::mutex failure_lock;
    auto loop = [&](int thread) {
        try {
            for (int64_t c; (c = next.fetch_add(1)) < n_chunks;) work(c, thread);
        } catch (...) {
            const std::lock_guard<std::mutex> hold(failure_lock);
            if (!failure) failure = std::current_exception();
            next = n_chunks;
        }
    };
    std::vector<std::thread> threads;
    threads.reserve(static_cast<size_t>(workers) - 1);
    try {
        for (int t = 1; t < workers; ++t) threads.emplace_back(loop, t);
    } catch (const std::system_error&) {
        // No more threads are available: the ones already started, and this one, do the work.
    }
    loop(0);
    for (auto& t : threads) t.join();
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

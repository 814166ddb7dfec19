#include "lowdim/parallel.hpp"

#include "lowdim/pool.hpp"

namespace lowdim {

void ChunkLoop::share(int n_threads, void (*part)(void* loop, int thread)) {
    const auto wanted = int(std::min<int64_t>(n_threads, n_chunks_));
    if (wanted > 1)
        pool().run(wanted, {part, this});
    else
        part(this, 0);
    if (failure_) std::rethrow_exception(failure_);
}

void ChunkLoop::run(int thread) {
    for (int64_t c; (thread == 0 || !pool().closing()) && (c = next_.fetch_add(1)) < n_chunks_;)
        try {
            work_(context_, c, thread);
        } catch (...) {
            next_ = n_chunks_;
            const std::lock_guard<std::mutex> hold(failure_lock_);
            if (c < failed_) {
                failed_ = c;
                failure_ = std::current_exception();
            }
        }
}

}  // namespace lowdim

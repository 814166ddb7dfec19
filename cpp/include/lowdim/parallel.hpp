// Loops over fixed chunks on several threads. Which thread runs a chunk may vary; what a chunk
// computes does not, so results are the same bits for any number of threads.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>

namespace lowdim {

// The chunks of one call, which its threads take one after the other. The work is called through a
// pointer, so that it is compiled once and the loop around it once for all.
class ChunkLoop {
  public:
    using Work = void (*)(void* context, int64_t chunk, int thread);

    ChunkLoop(int64_t n_chunks, Work work, void* context)
        : n_chunks_(n_chunks), work_(work), context_(context), failed_(n_chunks) {}

    // Lets at most n_threads threads call part(this, thread), which calls `run`.
    void share(int n_threads, void (*part)(void* loop, int thread));

    // Takes chunks until there are none left.
    void run(int thread);

  private:
    const int64_t n_chunks_;
    const Work work_;
    void* const context_;
    std::atomic<int64_t> next_{0};
    std::mutex failure_lock_;  // of failed_ and failure_
    int64_t failed_;
    std::exception_ptr failure_;
};

struct NoScope {
    NoScope() {}  // not trivial, so that compilers do not call the variable unused
};

// Calls work(chunk, thread) for every chunk in [0, n_chunks), on at most n_threads threads. Each of
// them holds a Scope during its part of the loop. If chunks throw, the exception of the first of
// them, which does not depend on the number of threads, is passed on, and later chunks may be left
// out.
template <class Scope = NoScope, class Work>
void parallel_chunks(int64_t n_chunks, int n_threads, const Work& work) {
    const auto call = [](void* context, int64_t chunk, int thread) {
        (*static_cast<const Work*>(context))(chunk, thread);
    };
    ChunkLoop(n_chunks, call, const_cast<Work*>(std::addressof(work)))
        .share(n_threads, [](void* loop, int thread) {
            [[maybe_unused]] const Scope scope;
            static_cast<ChunkLoop*>(loop)->run(thread);
        });
}

// Calls work(begin, end, thread) over [0, n) in chunks of a size that depends on n alone.
template <class Work>
void parallel_ranges(int64_t n, int64_t chunk, int n_threads, const Work& work) {
    const int64_t n_chunks = (n + chunk - 1) / chunk;
    parallel_chunks(n_chunks, n_threads, [&](int64_t c, int thread) {
        work(c * chunk, std::min(n, (c + 1) * chunk), thread);
    });
}

}  // namespace lowdim

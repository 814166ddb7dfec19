// WebAssembly runs on one thread, without a pool: the chunks of a loop run in order.
#include "lowdim/parallel.hpp"

namespace lowdim {

void ChunkLoop::share(int, void (*part)(void* loop, int thread)) { part(this, 0); }

void ChunkLoop::run(int thread) {
    for (int64_t c; (c = next_.fetch_add(1)) < n_chunks_;) work_(context_, c, thread);
}

}  // namespace lowdim

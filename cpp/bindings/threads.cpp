// Python functions on the threads of the pool.
#include <nanobind/nanobind.h>

#include <cstdint>

#include "lowdim/parallel.hpp"

namespace lowdim {

namespace nb = nanobind;
using namespace nb::literals;

void bind_threads(nb::module_& m) {
    m.def(
        "run_chunks",
        [](const nb::callable& work, int64_t n_chunks, int n_threads) {
            nb::gil_scoped_release released;
            // The scope keeps the thread state of Python, and so thread-local values, from chunk to
            // chunk.
            parallel_chunks<nb::gil_scoped_acquire>(n_chunks, n_threads,
                                                    [&](int64_t c, int) { work(c); });
        },
        "work"_a, "n_chunks"_a, "n_threads"_a);
    m.def("close_pool", [] {
        nb::gil_scoped_release released;
        pool().close();
    });
    // Before the interpreter is taken down, since a thread may hold a state of it.
    nb::module_::import_("atexit").attr("register")(m.attr("close_pool"));
}

}  // namespace lowdim

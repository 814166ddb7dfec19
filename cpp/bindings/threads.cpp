// Python functions on the threads of the pool.
#include <nanobind/nanobind.h>

#include <cstdint>
#include <stdexcept>

#include "lowdim/parallel.hpp"
#include "lowdim/pool.hpp"
#include "released.hpp"

namespace lowdim {

namespace nb = nanobind;
using namespace nb::literals;

void bind_threads(nb::module_& m) {
    m.def(
        "run_chunks",
        [](const nb::callable& work, int64_t n_chunks, int n_threads) {
            const Released released;
            // The scope keeps the thread state of Python, and so thread-local values, from chunk to
            // chunk.
            parallel_chunks<nb::gil_scoped_acquire>(n_chunks, n_threads,
                                                    [&](int64_t c, int thread) {
                                                        detail::of_pool |= thread > 0;
                                                        if (Released::interrupted())
                                                            throw std::runtime_error("exit");
                                                        work(c);
                                                    });
        },
        "work"_a, "n_chunks"_a, "n_threads"_a);
    m.def("close_pool", [] {
        Released::interrupt_others();
        const nb::gil_scoped_release released;
        pool().close();
        Released::await_others();
    });
    // Before the interpreter is taken down, since a thread may hold a state of it.
    nb::module_::import_("atexit").attr("register")(m.attr("close_pool"));
}

}  // namespace lowdim

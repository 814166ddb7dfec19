// Copies of arrays.
#include "lowdim/copies.hpp"

#include "checks.hpp"

namespace lowdim {

template <class T>
using Rows = nb::ndarray<T, nb::ndim<2>, nb::device::cpu>;

void bind_copies(nb::module_& m) {
    m.def(
        "copy_rows",
        [](Rows<const uint8_t> from, Rows<uint8_t> to, int n_threads) {
            expect(same_shape(from, to), "from and to must have the same shape");
            const auto rows = int64_t(from.shape(0)), width = int64_t(from.shape(1));
            expect(width <= 1 || (from.stride(1) == 1 && to.stride(1) == 1),
                   "the rows of from and to must be contiguous");
            const Released released;
            copy_rows(from.data(), from.stride(0), to.data(), to.stride(0), rows, width, n_threads);
        },
        "from"_array, "to"_array, "n_threads"_a);
}

}  // namespace lowdim

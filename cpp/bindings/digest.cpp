// Digests of arrays.
#include "lowdim/digest.hpp"

#include "checks.hpp"

namespace lowdim {

void bind_digest(nb::module_& m) {
    m.def("digest_chunks", &digest_chunks, "count"_a);
    m.def(
        "digest",
        [](In1<uint8_t> bytes, Out1<uint64_t> out, int n_threads) {
            const auto count = int64_t(bytes.shape(0));
            expect(has_shape(out, digest_chunks(count)), "out must have one entry per chunk");
            const Released released;
            digest(bytes.data(), count, n_threads, out.data());
        },
        "bytes"_array, "out"_array, "n_threads"_a);
}

}  // namespace lowdim

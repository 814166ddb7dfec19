#include "lowdim/copies.hpp"

#include <utility>
#include <vector>

#include "testing.hpp"

using namespace lowdim;
using namespace testing;

namespace {

TEST(rows_are_copied_and_nothing_between_them) {
    for (const auto& [rows, width] : {std::pair<int64_t, int64_t>{1, 3 * kCopyChunk + 5},
                                      {70000, 37},
                                      {3, kCopyChunk + 1},
                                      {0, 5},
                                      {5, 0}})
        for (const int64_t gap : {0, 11})
            for (const int threads : {1, 3}) {
                const int64_t stride = width + gap;
                std::vector<uint8_t> from(size_t(rows * stride)), to(from.size(), 255);
                for (size_t i = 0; i < from.size(); ++i) from[i] = uint8_t(i * 7 % 251);
                copy_rows(from.data(), stride, to.data(), stride, rows, width, threads);
                bool same = true;
                for (size_t i = 0; i < from.size(); ++i)
                    same &= to[i] == (int64_t(i) % stride < width ? from[i] : 255);
                CHECK(same);
            }
}

}  // namespace

#include "lowdim/parallel.hpp"

#include <stdexcept>
#include <vector>

#include "testing.hpp"

using namespace lowdim;
using namespace testing;

namespace {

TEST(every_item_is_visited_once) {
    for (int n_threads : {-1, 1, 3, 8})
        for (int64_t n : {0, 1, 5, 64, 100}) {
            std::vector<int> visits(size_t(n), 0);
            parallel_ranges(n, 7, n_threads, [&](int64_t begin, int64_t end, int) {
                for (int64_t i = begin; i < end; ++i) ++visits[size_t(i)];
            });
            CHECK_EQUAL(visits, std::vector<int>(size_t(n), 1));
        }
}

TEST(an_exception_is_passed_on) {
    for (int n_threads : {1, 3}) {
        bool caught = false;
        try {
            parallel_chunks(20, n_threads, [](int64_t c, int) {
                if (c == 11) throw std::runtime_error("eleven");
            });
        } catch (const std::runtime_error&) {
            caught = true;
        }
        CHECK(caught);
    }
}

}  // namespace

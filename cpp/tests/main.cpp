// Every kernel against the simplest code that computes the same, with the instruction set in use.
#include <cstdio>

#include "lowdim/kernels.hpp"
#include "testing.hpp"

namespace testing {
namespace {

constexpr int kMaxPrinted = 20;  // one mistake can fail thousands of checks
int passed = 0, failed = 0;
const char* running = "";

}  // namespace

std::vector<Test>& tests() {
    static std::vector<Test> all;
    return all;
}

std::string& Case::current() {
    static std::string text;
    return text;
}

void record(bool ok, const char* expression, const std::string& values, Place place) {
    ++(ok ? passed : failed);
    if (ok || failed > kMaxPrinted) return;
    std::printf("%s:%d: %s\n    failed: %s\n    values: %s\n    in:%s\n", place.file, place.line,
                running, expression, values.c_str(), Case::current().c_str());
}

}  // namespace testing

int main() {
    for (const testing::Test& test : testing::tests()) {
        testing::running = test.name;
        test.run();
    }
    std::printf("%s: %d checks passed, %d failed\n", lowdim::isa_name(), testing::passed,
                testing::failed);
    return testing::failed == 0 && testing::passed > 0 ? 0 : 1;
}

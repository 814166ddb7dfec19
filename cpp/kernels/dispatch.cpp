// Chooses the table of kernels once, from what the processor has and what LOWDIM_ISA asks for.
#include <cstdlib>
#include <cstring>

#include "lowdim/kernels.hpp"

namespace lowdim {
namespace portable {
extern const Kernels<float> kTable32;
extern const Kernels<double> kTable64;
}  // namespace portable
#ifdef LOWDIM_X86
namespace avx2 {
extern const Kernels<float> kTable32;
extern const Kernels<double> kTable64;
}  // namespace avx2
namespace avx512 {
extern const Kernels<float> kTable32;
extern const Kernels<double> kTable64;
}  // namespace avx512
#endif

namespace {

struct Choice {
    const char* name;
    const Kernels<float>* table32;
    const Kernels<double>* table64;
};

#ifdef LOWDIM_X86
#if defined(__GNUC__) || defined(__clang__)
bool has_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
bool has_avx512() {
    return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
}
#else
bool has_avx2() { return false; }
bool has_avx512() { return false; }
#endif
#endif

Choice choose() {
#ifdef LOWDIM_X86
    const char* asked = std::getenv("LOWDIM_ISA");
    const bool any = asked == nullptr || *asked == '\0';
    if (has_avx512() && (any || std::strcmp(asked, "avx512") == 0))
        return {"avx512", &avx512::kTable32, &avx512::kTable64};
    if (has_avx2() && (any || std::strcmp(asked, "portable") != 0))
        return {"avx2", &avx2::kTable32, &avx2::kTable64};
#endif
    return {"portable", &portable::kTable32, &portable::kTable64};
}

const Choice& choice() {
    static const Choice chosen = choose();
    return chosen;
}

}  // namespace

template <>
const Kernels<float>& kernels<float>() {
    return *choice().table32;
}
template <>
const Kernels<double>& kernels<double>() {
    return *choice().table64;
}
const char* isa_name() { return choice().name; }

}  // namespace lowdim

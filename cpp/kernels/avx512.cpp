#define LOWDIM_ISA avx512
#include "kernels.inc"

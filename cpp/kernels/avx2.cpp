#define LOWDIM_ISA avx2
#include "kernels.inc"

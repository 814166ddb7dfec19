#define LOWDIM_ISA portable
#include "kernels.inc"

// The tiles of Mahalanobis losses on tensor cores in tf32: one product of numbers of 11 bits.
#define VARIANT
#include "metric_mma.cu"

PACK(tf32, TF32)
TILES(tf32_64, TF32, 2, 4, 8)
TILES(tf32_128, TF32, 1, 4, 16)

/* Every source is compiled once for each instruction set (hatch_build.py), each time under names of its own. */

#ifndef SHESHA_LEVELS
#define SHESHA_LEVELS

#if defined(__AVX512F__)
#define OWN(name) name##_avx512
#define TALL 12
#define LANES 8
#elif defined(__AVX2__)
#define OWN(name) name##_avx2
#define TALL 4
#define LANES 4
#else
#define OWN(name) name##_plain
#define TALL 4
#define LANES 2
#define PLAIN
#endif
/* TALL rows of sums, two registers of LANES numbers each, and what feeds them are all the registers there are. */

#define INLINE static inline __attribute__((always_inline))

#endif

/* Weighted tables of cells, the bootstrap's inner loop; resampling.py calls it. */

#include <stdint.h>

#include "levels.h"

#define TOGETHER 16
/* Resamples whose counts of a row stand side by side: one register, or a few. */

typedef int32_t counts __attribute__((vector_size(64), aligned(4), may_alias));

/* table[cells[pair]] += weights[i[pair]] * weights[j[pair]], for TOGETHER resamples at once: sums of integers. */
void OWN(shesha_cells)(int64_t n_pairs, const int64_t *i, const int64_t *j, const int32_t *cells,
                       const int32_t *weights, int32_t *table)
{
    for (int64_t pair = 0; pair < n_pairs; pair++) {
        const counts *first = (const counts *)(weights + i[pair] * TOGETHER);
        const counts *second = (const counts *)(weights + j[pair] * TOGETHER);
        counts *sums = (counts *)(table + (int64_t)cells[pair] * TOGETHER);
        *sums += *first * *second;
    }
}

/* Weighted tables of cells and their rank correlations, the bootstrap's inner loops; resampling.py calls them. */

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "levels.h"

#define TOGETHER 16
/* Resamples whose counts of a row stand side by side: one register, or a few. */
#define CELLS 128
/* Cells per axis of a table. */

#define PARTS (8 / LANES)
/* Registers that hold them. */

typedef int32_t counts __attribute__((vector_size(8 * LANES), aligned(4), may_alias));

/* Sort pairs of rows by their cell: those of cell c come to stand from starts[c] to starts[c + 1]. */
void OWN(shesha_sort_pairs)(int64_t n_pairs, int64_t n_cells, const int64_t *i, const int64_t *j, const int32_t *cells,
                            int64_t *starts, int32_t *out)
{
    for (int64_t pair = 0; pair < n_pairs; pair++)
        starts[cells[pair] + 2]++;
    for (int64_t cell = 2; cell < n_cells + 2; cell++)
        starts[cell] += starts[cell - 1];
    for (int64_t pair = 0; pair < n_pairs; pair++) {
        const int64_t place = 2 * starts[cells[pair] + 1]++;
        out[place] = (int32_t)i[pair];
        out[place + 1] = (int32_t)j[pair];
    }
}

/* table[c] = sum over the pairs (i, j) of cell c of weights[i] * weights[j], for TOGETHER resamples at once: sums of
 * integers. Cells have their pairs together, so that a sum stays in its registers.
 */
void OWN(shesha_cells)(int64_t n_cells, const int64_t *starts, const int32_t *pairs, const int32_t *weights,
                       int32_t *table)
{
    for (int64_t cell = 0; cell < n_cells; cell++) {
        counts sums[PARTS] = {0};
        for (int64_t pair = starts[cell]; pair < starts[cell + 1]; pair++) {
            const counts *first = (const counts *)(weights + (int64_t)pairs[2 * pair] * TOGETHER);
            const counts *second = (const counts *)(weights + (int64_t)pairs[2 * pair + 1] * TOGETHER);
            for (int part = 0; part < PARTS; part++)
                sums[part] += first[part] * second[part];
        }
        for (int part = 0; part < PARTS; part++)
            ((counts *)(table + cell * TOGETHER))[part] = sums[part];
    }
}

/* Ranks of the cells of one axis, less their mean, and the sum of their squares weighted by the cells' counts. */
INLINE void centred_ranks(const int64_t *marginal, const int64_t *total, double *ranks, double *variance)
{
    double before[TOGETHER] = {0};
    for (int a = 0; a < CELLS; a++)
        for (int k = 0; k < TOGETHER; k++) {
            const double own = (double)marginal[a * TOGETHER + k];
            before[k] += own;
            ranks[a * TOGETHER + k] = before[k] - own / 2 - (double)total[k] / 2;
            variance[k] += own * ranks[a * TOGETHER + k] * ranks[a * TOGETHER + k];
        }
}

/* Rank correlation of each of the TOGETHER tables; NaN where one axis has a single cell. */
void OWN(shesha_cell_correlations)(const int32_t *table, double *out)
{
    static __thread int64_t rows[CELLS * TOGETHER], columns[CELLS * TOGETHER];
    static __thread double x[CELLS * TOGETHER], y[CELLS * TOGETHER];
    int64_t total[TOGETHER] = {0};
    double of_x[TOGETHER] = {0}, of_y[TOGETHER] = {0}, both[TOGETHER] = {0};
    memset(rows, 0, sizeof rows);
    memset(columns, 0, sizeof columns);
    for (int a = 0; a < CELLS; a++)
        for (int b = 0; b < CELLS; b++)
            for (int k = 0; k < TOGETHER; k++) {
                const int64_t own = table[(a * CELLS + b) * TOGETHER + k];
                rows[a * TOGETHER + k] += own;
                columns[b * TOGETHER + k] += own;
            }
    for (int a = 0; a < CELLS; a++)
        for (int k = 0; k < TOGETHER; k++)
            total[k] += rows[a * TOGETHER + k];
    centred_ranks(rows, total, x, of_x);
    centred_ranks(columns, total, y, of_y);
    for (int a = 0; a < CELLS; a++) {
        double along[TOGETHER] = {0};
        for (int b = 0; b < CELLS; b++)
            for (int k = 0; k < TOGETHER; k++)
                along[k] += table[(a * CELLS + b) * TOGETHER + k] * y[b * TOGETHER + k];
        for (int k = 0; k < TOGETHER; k++)
            both[k] += along[k] * x[a * TOGETHER + k];
    }
    for (int k = 0; k < TOGETHER; k++)
        out[k] = both[k] / sqrt(of_x[k] * of_y[k]);
}

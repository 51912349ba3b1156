/* The smallest entries of each row of a matrix; neighbours.py calls it. */

#include <stdint.h>

#include "levels.h"

#define STRETCH 32
/* Entries that are compared together: most stretches hold none that matters. */

/* Columns of the m smallest entries of each row of n > m, in rising order of the entries. values: room for m. */
void OWN(shesha_smallest)(int64_t n_rows, int64_t n, const double *block, int64_t m, double *values, int64_t *columns)
{
    for (int64_t row = 0; row < n_rows; row++, block += n, columns += m) {
        int64_t found = 0;
        for (int64_t start = 0; start < n; start += STRETCH) {
            const int64_t stop = start + STRETCH < n ? start + STRETCH : n;
            if (found == m && stop - start == STRETCH) {
                const double bound = values[m - 1];
                int64_t below = 0;
                for (int64_t j = 0; j < STRETCH; j++)
                    below += block[start + j] < bound;
                if (below == 0)
                    continue;
            }
            for (int64_t j = start; j < stop; j++) {
                if (found == m && !(block[j] < values[m - 1]))
                    continue;
                int64_t at = found < m ? found++ : m - 1;
                for (; at > 0 && values[at - 1] > block[j]; at--) {
                    values[at] = values[at - 1];
                    columns[at] = columns[at - 1];
                }
                values[at] = block[j];
                columns[at] = j;
            }
        }
    }
}

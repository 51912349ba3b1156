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

/* Put a value into a rising list of m, in place of the last; it must be below that. */
INLINE void enter(float value, int64_t place, int64_t m, float *values, int64_t *places)
{
    int64_t at = m - 1;
    for (; at > 0 && values[at - 1] > value; at--) {
        values[at] = values[at - 1];
        places[at] = places[at - 1];
    }
    values[at] = value;
    places[at] = place;
}

/* Enter the entries of a tile into the lists of the m smallest of its rows and, where there are lists of columns, of
 * those: there only pairs whose column comes after the row count (`with_self`: not before). Rising lists begin with
 * infinities; no list's last entry is above the number that `bounds` has for its column. */
void OWN(shesha_enter_tile)(int64_t height, int64_t width, const float *tile, int64_t m, int64_t first_row,
                            int64_t first_column, int64_t with_self, float *row_values, int64_t *row_places,
                            float *column_values, int64_t *column_places, float *bounds)
{
    const int64_t ahead = first_row - first_column + (with_self ? 0 : 1);
    for (int64_t row = 0; row < height; row++, tile += width, row_values += m, row_places += m) {
        int64_t start = bounds && row + ahead > 0 ? row + ahead : 0;
        for (int64_t stop; start < width; start = stop) {
            stop = start + STRETCH < width ? start + STRETCH : width;
            const float bound = row_values[m - 1];
            int32_t below = 0;
            if (!bounds)
                for (int64_t j = start; j < stop; j++)
                    below |= tile[j] < bound;
            else
                for (int64_t j = start; j < stop; j++)
                    below |= (tile[j] < bound) | (tile[j] < bounds[j]);
            if (!below)
                continue;
            for (int64_t j = start; j < stop; j++) {
                if (tile[j] < row_values[m - 1])
                    enter(tile[j], first_column + j, m, row_values, row_places);
                if (bounds && tile[j] < column_values[j * m + m - 1] && first_column + j != first_row + row) {
                    enter(tile[j], first_row + row, m, column_values + j * m, column_places + j * m);
                    bounds[j] = column_values[j * m + m - 1];
                }
            }
        }
    }
}

"""A program that compares files, in blocks that are soon done: python stored_run.py FOLDER STORE WORKERS."""

import sys

from shesha import compare_all
from shesha.comparison import resumable_pairs

BLOCK = 3

if __name__ == "__main__":
    from stored_measures import stored_both, stored_one_way

    resumable_pairs.BLOCK = BLOCK
    chosen = [stored_both, stored_one_way, "CKA"]
    compare_all(sys.argv[1], chosen, store=sys.argv[2], workers=int(sys.argv[3]))

"""A program that audits files, and notes what it has begun: python stored_run.py FOLDER STORE CALLS."""

import sys
import time
from pathlib import Path

import shesha
from shesha.auditing import stored_audits

if __name__ == "__main__":
    folder, store, calls = sys.argv[1:]
    found_in = stored_audits.audit_subject

    def noted(subject, *others):
        """Note the call, and leave time to be killed."""
        with Path(calls).open("a") as file:
            print(subject.fingerprint, file=file)
        time.sleep(0.1)
        return found_in(subject, *others)

    stored_audits.audit_subject = noted
    shesha.audit(folder, store=store, n_bootstrap=10, n_permutations=19)

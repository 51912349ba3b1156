"""The stability scores: one marked function per variant, one family per file."""

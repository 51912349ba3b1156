"""The stability scores, with one marked function for each variant and one file for each family."""

"""What every room uses: array libraries, input checks, seeds, memory, progress, files, lazy names."""

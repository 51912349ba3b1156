"""`python -m shesha` is the command `shesha`."""

from shesha.cli import main

if __name__ == "__main__":
    main()

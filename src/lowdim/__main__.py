"""`python -m lowdim` is the `lowdim` command."""

from lowdim.cli import main

main(prog_name="lowdim")

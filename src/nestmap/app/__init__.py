"""What people run: readers of files, runs, the command line, single cells."""

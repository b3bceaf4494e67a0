"""Unit tests: no timing, no network, no MPI."""

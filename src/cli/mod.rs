//! Flags in, exit code out.
